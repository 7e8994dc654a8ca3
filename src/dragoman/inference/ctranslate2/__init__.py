"""Translate with an exported model, without torch: the folder, the search, and the translator."""
