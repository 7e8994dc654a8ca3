"""A sub-layer with its residual connection and layer norm, before it or after it."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout

NormPlace = Literal["pre", "post"]


class Residual(nn.Module):
    """x + Sublayer(LayerNorm(x)) where `norm` is pre; LayerNorm(x + Sublayer(x)) where it is post, as in the paper.

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
        """Apply `sublayer` to the states and add."""
        return self.add_output(states, sublayer(self.normed_input(states)))

    def normed_input(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        """Return what the sub-layer reads."""
        return self.norm(states) if self.place == "pre" else states

    def add_output(
        self, states: Float[Tensor, "batch time width"], output: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch time width"]:
        """Add what the sub-layer gave to the states that came in."""
        added = self.dropout.add(states, output)
        return added if self.place == "pre" else self.norm(added)
