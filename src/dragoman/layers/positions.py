"""Absolute positions added to embeddings: sinusoidal (no parameters, any length), learned (bounded), or none."""

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.errors import InputError
from dragoman.plugins import get, or_plugin

PositionsName = Literal["sinusoidal", "learned", "none"]
PositionsChoice = Annotated[PositionsName, *or_plugin("positions")]
"""A setting: one of these, or one from a plugin."""


def sinusoids(
    offset: int, count: int, width: int, *, device: torch.device | None = None
) -> Float[Tensor, "count width"]:
    """Return PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) = cos of the same angle (Vaswani et al. 2017, 3.5).

    >>> sinusoids(0, 1, 4).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """
    positions = torch.arange(offset, offset + count, dtype=torch.float32, device=device)
    pairs = torch.arange(0, width, 2, dtype=torch.float32, device=device)
    angles = positions[:, None] * torch.exp(pairs * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]


class SinusoidalPositions(nn.Module):
    """Add sinusoids; works beyond the lengths seen in training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Add positions offset, offset + 1, ... to `states`."""
        return states + sinusoids(offset, states.shape[1], self.width, device=states.device).to(states.dtype)


class LearnedPositions(nn.Module):
    """Add one learned vector per position. A longer sequence raises InputError."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.table = nn.Embedding(count, width)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Add positions offset, offset + 1, ... to `states`."""
        end = offset + states.shape[1]
        if end > self.table.num_embeddings:
            raise InputError(
                f"a sentence of {end} tokens is longer than the {self.table.num_embeddings} positions of this model; "
                "shorten it, or train with a larger model.max_positions or with sinusoidal positions"
            )
        return states + self.table.weight[offset:end]


class NoPositions(nn.Module):
    """Add nothing: for attention with relative positions, or to measure what word order is worth."""

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Return `states` as they are."""
        return states


def build_positions(name: str, width: int, count: int) -> nn.Module:
    """Build the positions called `name`; `count` limits the learned ones."""
    match name:
        case "sinusoidal":
            return SinusoidalPositions(width)
        case "learned":
            return LearnedPositions(width, count)
        case "none":
            return NoPositions()
        case _:
            module: nn.Module = get("positions", name).build(width, count)
            return module
