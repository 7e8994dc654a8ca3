"""A sub-layer with its residual connection and norm (pre-norm or post-norm)."""

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout

NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]
EPSILON: Mapping[NormKind, float] = {"layer": 1e-5, "rms": 1e-6}
"""What norms add to the variance or the mean square of the features, unless a model says otherwise."""


class RmsNorm(nn.Module):
    """g x / sqrt(mean(x^2) + epsilon): a layer norm without mean and bias (Zhang and Sennrich 2019, equation 4).

    Deviation: epsilon, as in T5. The mean is computed in float32 whatever the states are, as T5's implementation does.
    """

    def __init__(self, width: int, epsilon: float = EPSILON["rms"]) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, states: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Divide the features of each position by their root mean square."""
        squares = states.float().square().mean(-1, keepdim=True)
        return self.weight * (states * torch.rsqrt(squares + self.epsilon))


def build_norm(kind: NormKind, width: int, epsilon: float | None = None) -> nn.Module:
    """Build the norm called `kind` over `width` features."""
    value = epsilon or EPSILON[kind]
    return nn.LayerNorm(width, value) if kind == "layer" else RmsNorm(width, value)


class Residual(nn.Module):
    """x + Sublayer(Norm(x)) if `norm` is pre; Norm(x + Sublayer(x)) if it is post, as in the paper.

    Source: Vaswani et al. 2017, section 3.1 (post); Xiong et al. 2020 (pre). Dropout applies to the sub-layer's output.
    """

    def __init__(
        self, width: int, norm: NormPlace, dropout: float, *, kind: NormKind = "layer", epsilon: float | None = None
    ) -> None:
        super().__init__()
        self.place = norm
        self.norm = build_norm(kind, width, epsilon)
        self.dropout = Dropout(dropout)

    def forward(
        self, states: Float[Tensor, "batch time width"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch time width"]:
        """Apply `sublayer` to the states and add its output."""
        return self.add_output(states, sublayer(self.normed_input(states)))

    def normed_input(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Return the input of the sub-layer."""
        return self.norm(states) if self.place == "pre" else states

    def add_output(
        self, states: Float[Tensor, "batch time width"], output: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch time width"]:
        """Add the sub-layer's output to its input."""
        added = self.dropout.add(states, output)
        return added if self.place == "pre" else self.norm(added)
