"""Architectures: one file per family; `build` holds the one choice among them."""
