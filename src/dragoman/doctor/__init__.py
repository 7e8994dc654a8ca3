"""The data doctor: finds what is wrong with parallel text before a training does."""
