"""Convert a trained model for another engine, and verify that it still gives the same translations."""
