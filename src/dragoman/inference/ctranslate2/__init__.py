"""Translating with an exported model, without torch: the folder, the search, and text in, text out."""
