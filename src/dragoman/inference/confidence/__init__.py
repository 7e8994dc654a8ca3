"""How far a translation can be trusted: what a model did while it wrote one, alarms, and a calibrated confidence."""
