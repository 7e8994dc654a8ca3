"""The position-wise feed-forward network (Vaswani et al. 2017, equation 2)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, with dropout on the inner layer."""

    def __init__(self, width: int, inner: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.dropout = Dropout(dropout)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Widen, keep what is positive, narrow."""
        return self.outer(self.dropout(torch.relu(self.inner(states))))
