"""Absolute positions added to embeddings: sinusoids (no parameters, any length), rows of a table (bounded), or none.

| name                | vector of position p                                                   | source                        |
| ------------------- | ---------------------------------------------------------------------- | ----------------------------- |
| `sinusoidal`        | sine and cosine of p / 10000^(2i/d) in turn                            | Vaswani et al. 2017, 3.5      |
| `sinusoidal_halves` | the same numbers, but all sines before all cosines                     | Hugging Face: Marian, Pegasus |
| `marian`            | halves of sines and cosines of p / 10000^(i/(d/2-1))                   | Marian, tensor2tensor         |
| `m2m`               | those of `marian` for p + 2                                            | fairseq: M2M-100, NLLB        |
| `learned`           | row p of a table                                                       | Gehring et al. 2017, 3.1      |
| `bart`              | row p + 2 of a table, whose first two rows are unused                  | fairseq: BART, mBART          |
| `fixed`             | row p of a table that is not trained, at first `sinusoidal_halves`     | Hugging Face: Marian, Pegasus |
| `none`              | nothing                                                                |                               |
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.errors import InputError
from dragoman.plugins import get, or_plugin

PositionsName = Literal["sinusoidal", "sinusoidal_halves", "marian", "m2m", "learned", "bart", "fixed", "none"]
PositionsChoice = Annotated[PositionsName, *or_plugin("positions")]
"""A setting: one of these, or one from a plugin."""
BOUNDED: tuple[PositionsName, ...] = ("learned", "bart", "fixed")
"""Positions that exist up to `max_positions` only."""
UNUSED = 2
"""Rows before that of the first position in the tables of fairseq."""


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


def sinusoids_in_halves(
    offset: int, count: int, width: int, *, device: torch.device | None = None
) -> Float[Tensor, "count width"]:
    """Return sin(pos / 10000^(2i/d)) for all i, then the cosines; computed in float64 and rounded, as Hugging Face does.

    >>> sinusoids_in_halves(0, 1, 4).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    positions = torch.arange(offset, offset + count, dtype=torch.float64, device=device)
    pairs = torch.arange(0, width, 2, dtype=torch.float64, device=device)
    angles = positions[:, None] / torch.pow(10000.0, pairs / width)
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :width].float()


def sinusoids_of_marian(
    offset: int, count: int, width: int, *, device: torch.device | None = None
) -> Float[Tensor, "count width"]:
    """Return sin(pos / 10000^(i/(d/2-1))) for all i, then the cosines; in float32, as Marian and fairseq do.

    The slowest wave is one of exactly 10000 radians, unlike that of `sinusoids`. Frequencies are computed on the CPU, because
    far from the start the rounding of another device would show. An odd width ends with 0.

    >>> sinusoids_of_marian(0, 1, 5).tolist()
    [[0.0, 0.0, 1.0, 1.0, 0.0]]
    """
    half = width // 2
    steps = torch.arange(half, dtype=torch.float32, device="cpu")
    frequencies = torch.exp(steps * -(math.log(10000.0) / max(half - 1, 1)))
    positions = torch.arange(offset, offset + count, dtype=torch.float32, device=device)
    angles = positions[:, None] * frequencies.to(positions.device)
    return F.pad(torch.cat([angles.sin(), angles.cos()], -1), (0, width % 2))


def sinusoids_of_m2m(
    offset: int, count: int, width: int, *, device: torch.device | None = None
) -> Float[Tensor, "count width"]:
    """Return the sinusoids of Marian, counted from 2: fairseq's table has rows for padding and for what is before it."""
    return sinusoids_of_marian(offset + UNUSED, count, width, device=device)


SINUSOIDS: Mapping[str, Callable[..., Tensor]] = {
    "sinusoidal": sinusoids,
    "sinusoidal_halves": sinusoids_in_halves,
    "marian": sinusoids_of_marian,
    "m2m": sinusoids_of_m2m,
}
"""What computes the positions of each name, from the first, their number, the width and the device."""


class SinusoidalPositions(nn.Module):
    """Add sinusoids of the kind `name`; works beyond the lengths seen in training."""

    def __init__(self, width: int, name: str = "sinusoidal") -> None:
        super().__init__()
        self.width = width
        self.name = name

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Add positions offset, offset + 1, ... to `states`."""
        return states + self.table(offset, states.shape[1], states.device).to(states.dtype)

    def table(self, offset: int, count: int, device: torch.device | None = None) -> Float[Tensor, "count width"]:
        """Return the vectors of `count` positions from `offset` on."""
        return SINUSOIDS[self.name](offset, count, self.width, device=device)


class LearnedPositions(nn.Module):
    """Add one learned vector per position, after `unused` rows of the table. A longer sequence raises InputError."""

    def __init__(self, width: int, count: int, unused: int = 0) -> None:
        super().__init__()
        self.unused = unused
        self.table = nn.Embedding(count + unused, width)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Add positions offset, offset + 1, ... to `states`."""
        end = offset + states.shape[1]
        count = self.table.num_embeddings - self.unused
        if end > count:
            raise InputError(
                f"a sentence of {end} tokens is longer than the {count} positions of this model; "
                "shorten it, or train with a larger model.max_positions or with sinusoidal positions"
            )
        return states + self.table.weight[self.unused + offset : self.unused + end]


class FixedPositions(LearnedPositions):
    """Add one vector per position that training does not change: a sinusoid, unless other weights are loaded.

    Old files of Marian hold such tables rounded to half precision, and models read them as they are.
    """

    def __init__(self, width: int, count: int) -> None:
        super().__init__(width, count)
        self.table.weight = nn.Parameter(sinusoids_in_halves(0, count, width), requires_grad=False)


class NoPositions(nn.Module):
    """Add nothing: for attention with relative positions, or to measure what word order is worth."""

    def forward(self, states: Float[Tensor, "batch time width"], offset: int = 0) -> Float[Tensor, "batch time width"]:
        """Return `states` as they are."""
        return states


def build_positions(name: str, width: int, count: int) -> nn.Module:
    """Build the positions called `name`; `count` limits those of a table."""
    match name:
        case "sinusoidal" | "sinusoidal_halves" | "marian" | "m2m":
            return SinusoidalPositions(width, name)
        case "learned":
            return LearnedPositions(width, count)
        case "bart":
            return LearnedPositions(width, count, UNUSED)
        case "fixed":
            return FixedPositions(width, count)
        case "none":
            return NoPositions()
        case _:
            module: nn.Module = get("positions", name).make(width, count)
            return module
