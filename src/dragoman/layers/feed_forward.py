"""The position-wise feed-forward network (Vaswani et al. 2017, equation 2)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, with dropout on the inner layer; if gated, (swish(x W + b) * (x V + c)) W_2 + b_2.

    Source of the gated form: Shazeer 2020, equation 6 (SwiGLU); deviation: with biases. W and V are stored as one matrix.
    """

    def __init__(self, width: int, inner: int, dropout: float = 0.0, *, gated: bool = False) -> None:
        super().__init__()
        self.gated = gated
        self.inner = nn.Linear(width, 2 * inner if gated else inner)
        self.outer = nn.Linear(inner, width)
        self.dropout = Dropout(dropout)
        for layer in (self.inner, self.outer):
            for part in layer.weight.data.split(inner if layer is self.inner else width):
                nn.init.xavier_uniform_(part)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Project to the inner size, apply ReLU or the gate, and project back."""
        widened = self.inner(states)
        if self.gated:
            gate, open_part = widened.chunk(2, -1)
            return self.outer(self.dropout(F.silu(gate) * open_part))
        return self.outer(self.dropout(torch.relu(widened)))
