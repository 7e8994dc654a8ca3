"""What must be true of every architecture, as functions that fail with an AssertionError where it is not."""
