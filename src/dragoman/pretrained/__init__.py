"""Models of other toolkits: import them, and hand them back."""
