"""The position-wise feed-forward network (Vaswani et al. 2017, equation 2), its activations and its gated form."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout

ActivationName = Literal["relu", "swish", "gelu", "gelu_tanh"]
"""swish: x sigmoid(x). gelu: x times the normal distribution function of x (Hendrycks and Gimpel 2016); gelu_tanh: its
approximation by tanh (section 2)."""

ACTIVATIONS: Mapping[ActivationName, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "swish": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
}
"""The function of each name."""


class FeedForward(nn.Module):
    """f(x W_1 + b_1) W_2 + b_2, with dropout on the inner layer; if gated, (f(x W + b) * (x V + c)) W_2 + b_2.

    f is ReLU, or swish if gated, unless `activation` names another. Source of the gated form: Shazeer 2020, section 2 (with
    swish: equation 6, SwiGLU); deviation: with `biases`. W and V are stored as one matrix.
    """

    def __init__(
        self,
        width: int,
        inner: int,
        dropout: float = 0.0,
        *,
        gated: bool = False,
        activation: ActivationName | None = None,
        biases: bool = True,
    ) -> None:
        super().__init__()
        self.gated = gated
        self.activation: ActivationName = activation or ("swish" if gated else "relu")
        self.inner = nn.Linear(width, 2 * inner if gated else inner, bias=biases)
        self.outer = nn.Linear(inner, width, bias=biases)
        self.dropout = Dropout(dropout)
        for layer in (self.inner, self.outer):
            for part in layer.weight.data.split(inner if layer is self.inner else width):
                nn.init.xavier_uniform_(part)
            if biases:
                nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Project to the inner size, apply the activation and the gate, if any, and project back."""
        widened = self.inner(states)
        activate = ACTIVATIONS[self.activation]
        if self.gated:
            gate, open_part = widened.chunk(2, -1)
            return self.outer(self.dropout(activate(gate) * open_part))
        return self.outer(self.dropout(activate(widened)))
