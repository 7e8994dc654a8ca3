"""What must be true of every architecture, as functions that raise AssertionError if it is not."""
