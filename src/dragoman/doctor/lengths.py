"""Pairs that are too long, or of which one side is much longer than the other."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.data.findings import Finding
from dragoman.doctor.check import Check, PairCheck, Patient, Tally
from dragoman.doctor.chunk import Chunk, Rows, Side
from dragoman.doctor.sizes import Limits

EXTRA = 10
"""Characters that are added to both sides before they are compared, as in `data.filters.max_ratio`."""
BINS, STEP = 241, 0.05
"""Bins of the histogram of log ratios, which is centred at 0, and their width."""
WORDS = 101
"""Bins of the histograms of words: 0, 1, ... 99, more."""

Counts = NDArray[np.int64]


class Shape:
    """Histograms of a corpus: words of both sides, and log ratios of their characters."""

    def __init__(self) -> None:
        self.words = np.zeros((2, WORDS), np.int64)
        self.ratios: Counts = np.zeros(BINS, np.int64)

    def add(self, chunk: Chunk) -> None:
        """Count the pairs of a chunk that have two sides."""
        for counts, side in zip(self.words, chunk.sides, strict=True):
            counts += np.bincount(np.minimum(side.words, WORDS - 1), minlength=WORDS)
        filled = (chunk.source.letters > 0) & (chunk.target.letters > 0)
        bins = np.round(log_ratios(chunk.source, chunk.target)[filled] / STEP).astype(np.int64) + BINS // 2
        self.ratios += np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS)

    def quantile(self, share: float) -> float:
        """Return the log ratio below which so many pairs are.

        >>> Shape().quantile(0.5)
        0.0
        """
        total = int(self.ratios.sum())
        at = int(np.searchsorted(np.cumsum(self.ratios), share * total)) if total else BINS // 2
        return (at - BINS // 2) * STEP

    @property
    def spread(self) -> float:
        """Standard deviation of log ratios, from the middle two thirds of them."""
        return max((self.quantile(0.84) - self.quantile(0.16)) / 2, STEP)

    def table(self) -> dict[str, list[int]]:
        """Return the histograms ready for JSON."""
        source, target = self.words.tolist()
        return {"source_words": source, "target_words": target, "log_ratios": self.ratios.tolist()}


class Measured(PairCheck):
    """A check that knows the shape of the corpus so far, of which the chunk is part."""

    def __init__(self, patient: Patient, shape: Shape) -> None:
        super().__init__(patient)
        self.shape = shape


class Ratios(Measured):
    """One side is much longer than it should be for the other."""

    name = "length-ratio"
    severity = "warning"
    serious = 0.01
    what = "has a translation that is much longer or shorter than those of similar sentences"
    advice = "see whether something is missing; `data.filters.max_ratio` leaves such pairs out"

    def rows(self, chunk: Chunk) -> Rows:
        """Find log ratios more than five deviations, and a factor of 2.5, from the median so far."""
        away = np.abs(log_ratios(chunk.source, chunk.target) - self.shape.quantile(0.5))
        filled = (chunk.source.letters > 0) & (chunk.target.letters > 0)
        return np.flatnonzero(filled & (away > max(5 * self.shape.spread, math.log(2.5))))


class Spilled(Measured):
    """A translation is too short and the next too long, or the reverse, but both together fit: a clause is on the wrong line."""

    name = "spilled"
    severity = "warning"
    serious = 0.01
    what = "seems to share a clause of its translation with the next line"
    advice = "move the clause to the line where it belongs"

    def rows(self, chunk: Chunk) -> Rows:
        """Find neighbours whose log ratios are odd in opposite ways and fit when they are joined."""
        if len(chunk) < 2:
            return np.zeros(0, np.int64)
        centre, spread = self.shape.quantile(0.5), self.shape.spread
        away = log_ratios(chunk.source, chunk.target) - centre
        sizes = [side.codes.lengths for side in chunk.sides]
        joined = [lengths[:-1] + lengths[1:] for lengths in sizes]
        together = np.log((joined[1] + EXTRA) / (joined[0] + EXTRA)) - centre
        least = np.minimum(np.abs(away[:-1]), np.abs(away[1:]))
        opposite = (away[:-1] * away[1:] < 0) & (least > max(2 * spread, math.log(1.4)))
        long = (joined[0] > 60) & (np.minimum.reduce([sizes[0][:-1], sizes[0][1:], sizes[1][:-1], sizes[1][1:]]) > 10)
        return np.flatnonzero(opposite & long & (np.abs(together) < spread))


class Sorted(Check):
    """Sentences are in the order of their lengths."""

    name = "sorted"
    what = "is sorted by length"
    advice = "shuffle it before you take a part of it for dev or test; training shuffles by itself"

    def __init__(self, patient: Patient, limits: Limits) -> None:
        super().__init__(patient)
        self.limits = limits
        self._rising = self._last = 0

    def see(self, chunk: Chunk) -> None:
        """Count lines that are at least almost as long as the one before."""
        self.seen += len(chunk)
        lengths = np.concatenate(([self._last], chunk.source.codes.lengths))
        self._rising += int((np.diff(lengths) >= 0).sum())
        self._last = int(lengths[-1])

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if nearly all of many lines are."""
        if self.seen < 500 or self._rising <= 0.98 * self.seen:
            return
        found, taken = self.finding(Tally(count=self._rising)), self.limits.validated
        if self.patient.part == "dev" and taken is not None and taken < self.seen:
            what = f"{self.what}, and validation takes the first {taken:,} of its {self.seen:,} pairs, the shortest"
            advice = "shuffle it, or raise `training.validate_sentences`"
            found = replace(found, severity="warning", what=what, advice=advice)
        yield found


def log_ratios(source: Side, target: Side) -> NDArray[np.float64]:
    """Return the logarithm of how many times longer each target is, with `EXTRA` characters added to both."""
    return np.log((target.codes.lengths + EXTRA) / (source.codes.lengths + EXTRA))
