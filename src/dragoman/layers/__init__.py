"""Building blocks shared by several models: embeddings, positions, feed-forward, recurrent stacks, residuals, output."""
