"""Handing a trained model to another engine, with the proof that it still gives the same translations."""
