"""See a translator attend and search, and intervene: the beam as a tree, forced words and weights, how a weight was computed."""
