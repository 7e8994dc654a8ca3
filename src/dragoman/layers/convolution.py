"""Convolutions over time, centred or causal, and weight normalisation."""

from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from dragoman.layers.embedding import OutputLayer

Layer = TypeVar("Layer", nn.Linear, OutputLayer)


class Convolution(nn.Module):
    """y_t = b + sum_i W_i x_(t + i * dilation), i = 0, 1, ..., width - 1, over a sequence padded with `span` inputs.

    The padding is zeros on both sides if centred, and the preceding inputs if causal. Computed as one matrix product with
    the concatenated inputs of each position, which on a CPU is as fast as torch's convolution for whole sentences and faster
    for single positions.
    """

    def __init__(self, inputs: int, outputs: int, width: int, *, dilation: int = 1) -> None:
        super().__init__()
        self.inputs = inputs
        self.width = width
        self.dilation = dilation
        self.span = (width - 1) * dilation
        self.linear = nn.Linear(width * inputs, outputs)

    def forward(self, states: Float[Tensor, "batch time inputs"]) -> Float[Tensor, "batch time outputs"]:
        """Let each output see the inputs around it; an even width sees one more on the right than on the left."""
        left = (self.width - 1) // 2 * self.dilation
        return self._apply_to(F.pad(states, (0, 0, left, self.span - left)))

    def causal(
        self, states: Float[Tensor, "batch time inputs"], past: Float[Tensor, "batch span inputs"]
    ) -> tuple[Float[Tensor, "batch time outputs"], Float[Tensor, "batch span inputs"]]:
        """Let each output see its input and earlier ones; return the outputs and the new `past`, the last `span` inputs."""
        seen = torch.cat([past, states], 1)
        return self._apply_to(seen), seen[:, states.shape[1] :]

    def empty_window(self, like: Float[Tensor, "batch _ _"]) -> Float[Tensor, "batch span inputs"]:
        """Return the past of the first position: zeros, with as many rows as `like`."""
        return like.new_zeros(like.shape[0], self.span, self.inputs)

    def _apply_to(self, seen: Float[Tensor, "batch longer inputs"]) -> Float[Tensor, "batch time outputs"]:
        """Concatenate the inputs of each output and multiply."""
        count = seen.shape[1] - self.span
        if self.width > 1:
            seen = torch.cat([seen[:, first : first + count] for first in range(0, self.span + 1, self.dilation)], -1)
        return self.linear(seen)


def normalised(layer: Layer, *, gain: float = 1.0, dropout: float = 0.0) -> Layer:
    """Parametrise each row w of a layer's matrix as g v / |v|, with g and v learned (Salimans and Kingma 2016, equation 2).

    Initially w is drawn from N(0, gain (1 - dropout) / inputs), g = |w|, and biases are zero. This preserves the variance of
    inputs that went through `dropout` (Gehring et al. 2017, section 3.5); before a gated linear unit that takes a `gain` of
    4.
    """
    deviation = (gain * (1 - dropout) / layer.weight.shape[1]) ** 0.5
    nn.init.normal_(layer.weight, std=deviation)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    weight_norm(layer, dim=0)
    return layer
