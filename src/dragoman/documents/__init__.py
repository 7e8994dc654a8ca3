"""Documents of many formats: read into segments of text, and written back with everything else as it was. Knows no torch."""
