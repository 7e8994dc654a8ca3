"""Parallel data: corpora, filters, the store of encoded pairs, and batches."""
