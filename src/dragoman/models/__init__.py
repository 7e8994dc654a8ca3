"""Architectures: one file per family; `build` chooses among them."""
