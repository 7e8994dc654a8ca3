"""Pieces that several models are made of: embeddings, positions, feed-forward, recurrent stacks, residuals, output."""
