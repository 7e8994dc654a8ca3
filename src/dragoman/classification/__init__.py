"""Document classification: settings, training, prediction, and pictures of the attention."""
