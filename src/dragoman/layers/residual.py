"""A sub-layer with its residual connection and layer norm (pre-norm or post-norm)."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout

NormPlace = Literal["pre", "post"]


class Residual(nn.Module):
    """x + Sublayer(LayerNorm(x)) if `norm` is pre; LayerNorm(x + Sublayer(x)) if it is post, as in the paper.

    Source: Vaswani et al. 2017, section 3.1 (post); Xiong et al. 2020 (pre). Dropout applies to the sub-layer's output.
    """

    def __init__(self, width: int, norm: NormPlace, dropout: float) -> None:
        super().__init__()
        self.place = norm
        self.norm = nn.LayerNorm(width)
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
