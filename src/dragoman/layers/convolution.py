"""Convolutions over time, centred or causal, and linear maps whose weights are normalised."""

from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from dragoman.layers.embedding import OutputLayer

Layer = TypeVar("Layer", nn.Linear, OutputLayer)


class Convolution(nn.Module):
    """y_t = b + sum_i W_i x_(t + i * dilation), i = 0, 1, ..., width - 1, over a sequence with `span` inputs more.

    The inputs more are zeros on both sides where it is centred, and the inputs before where it is causal. It is one product
    with the inputs of a position side by side, which on a CPU is as fast as torch's convolution for whole sentences, and
    faster for single positions.
    """

    def __init__(self, inputs: int, outputs: int, width: int, *, dilation: int = 1) -> None:
        super().__init__()
        self.inputs = inputs
        self.width = width
        self.dilation = dilation
        self.span = (width - 1) * dilation
        self.linear = nn.Linear(width * inputs, outputs)

    def forward(self, states: Float[Tensor, "batch time inputs"]) -> Float[Tensor, "batch time outputs"]:
        """Let each output see the inputs around it; of an even width, one more on the right than on the left."""
        left = (self.width - 1) // 2 * self.dilation
        return self._apply_to(F.pad(states, (0, 0, left, self.span - left)))

    def causal(
        self, states: Float[Tensor, "batch time inputs"], past: Float[Tensor, "batch span inputs"]
    ) -> tuple[Float[Tensor, "batch time outputs"], Float[Tensor, "batch span inputs"]]:
        """Let each output see its input and those before; `past` holds the last `span` before `states`, and so on after."""
        seen = torch.cat([past, states], 1)
        return self._apply_to(seen), seen[:, states.shape[1] :]

    def empty_window(self, like: Float[Tensor, "batch _ _"]) -> Float[Tensor, "batch span inputs"]:
        """Return the past before the first position, zeros, of as many rows as `like` has."""
        return like.new_zeros(like.shape[0], self.span, self.inputs)

    def _apply_to(self, seen: Float[Tensor, "batch longer inputs"]) -> Float[Tensor, "batch time outputs"]:
        """Put the inputs of each output side by side, and multiply."""
        count = seen.shape[1] - self.span
        if self.width > 1:
            seen = torch.cat([seen[:, first : first + count] for first in range(0, self.span + 1, self.dilation)], -1)
        return self.linear(seen)


def normalised(layer: Layer, *, gain: float = 1.0, dropout: float = 0.0) -> Layer:
    """Give each row w of a layer's matrix as g v / |v|, with g and v learned (Salimans and Kingma 2016, equation 2).

    It starts with w from N(0, gain (1 - dropout) / inputs), g = |w|, and biases of zero. This keeps the variance of what the
    layer reads, where `dropout` of that is dropped before (Gehring et al. 2017, section 3.5); before a gated linear unit, a
    `gain` of 4 does.
    """
    deviation = (gain * (1 - dropout) / layer.weight.shape[1]) ** 0.5
    nn.init.normal_(layer.weight, std=deviation)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    weight_norm(layer, dim=0)
    return layer
