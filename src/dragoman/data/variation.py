"""How the sentences of one epoch differ from those of another."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Int32

from dragoman.data.buckets import Lengths

Couples = Int[np.ndarray, "couples 2"]
"""Positions of pairs, two by two."""


@dataclass(frozen=True)
class Variation:
    """Subword sampling on each side, pairs that are joined to one, translations of terms in sources, and noise in others."""

    source: float = 0.0
    """Rate of sampling (see `Codec.sample`); 0 for none."""
    target: float = 0.0
    epochs: int | None = None
    """Number of epochs with sampling; None for all."""
    joined: float = 0.0
    """Share of the pairs that are joined with another."""
    annotated: float = 0.0
    """Share of the pairs in whose sources translations replace some terms."""
    noise: float = 0.0
    """Share of the tokens that are hidden in the sources with the tag of noised ones."""

    def rates(self, epoch: int) -> tuple[float, float]:
        """Return the rates of sampling in an epoch, counted from 0.

        >>> half = Variation(source=0.1, epochs=2)
        >>> half.rates(1), half.rates(2)
        ((0.1, 0.0), (0.0, 0.0))
        """
        return (self.source, self.target) if self.epochs is None or epoch < self.epochs else (0.0, 0.0)


PLAIN = Variation()
"""All epochs have the same sentences."""


def couples(
    source: Lengths, target: Lengths, share: float, *, most: tuple[int, int], rng: np.random.Generator
) -> Couples:
    """Draw pairs to be joined with another, a `share` of all, and return their positions two by two.

    `source` and `target` are the lengths of the pairs. Two that together have more than `most` (source, target) tokens stay
    apart.

    >>> lengths = np.full(6, 4, np.int32)
    >>> couples(lengths, lengths, 0.7, most=(8, 8), rng=np.random.default_rng(1)).shape
    (2, 2)
    >>> couples(lengths, lengths, 0.7, most=(7, 8), rng=np.random.default_rng(1)).shape
    (0, 2)
    """
    count = int(share * len(source) / 2)
    drawn = rng.permutation(len(source))[: 2 * count].reshape(count, 2)
    fits = (source[drawn].sum(1) <= most[0]) & (target[drawn].sum(1) <= most[1])
    return drawn[fits]


def merged(lengths: Lengths, found: Couples) -> Int32[np.ndarray, " _"]:
    """Add the second length of each couple to the first, and drop the second.

    >>> merged(np.int32([1, 2, 3]), np.array([[2, 0]])).tolist()
    [2, 4]
    """
    sums = lengths.copy()
    sums[found[:, 0]] += lengths[found[:, 1]]
    return np.delete(sums, found[:, 1])
