"""Find the offset of every line of a batch: near the expected one first, then anywhere, then the exact borders."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.doctor.evidence import BAND, REACH, Evidence, Weights, weigh
from dragoman.doctor.lexicon import NOWHERE, learn_lexicon, same_tokens
from dragoman.doctor.path import best_border, best_path
from dragoman.doctor.tokens import Batch

ROUNDS = 3
"""The lexicon is learned so many times at most, each time from the lines that have been found to fit."""
SEARCHES = 20
"""So many times lines without partner are looked for far away, as long as some are found."""
SHORTEST = 24
"""Fewer lines without partner are not looked for."""
ENOUGH = 50
"""So many lines for each offset are needed to begin with one beyond `BAND`; among fewer, chance looks like a shift."""
AROUND = 200
"""A border is placed among so many lines before and after the block at which it was found."""


class Run(NamedTuple):
    """Consecutive lines with one offset, or `NOWHERE`."""

    first: int
    end: int
    """The line after the last."""
    offset: int


@dataclass(frozen=True)
class Aligner:
    """Finds partners by what some evidence and its weights say."""

    evidence: Evidence
    weights: Weights

    def path(self, expected: int) -> Int64[np.ndarray, " lines"]:
        """Return the offset of each line, or `NOWHERE`; what is before the batch has the expected offset."""
        path = self._near(0, len(self.evidence.batch.source), expected, start=BAND)
        for _ in range(SEARCHES):
            lost = [run for run in runs(path) if run.offset == NOWHERE and run.end - run.first >= SHORTEST]
            found = False
            for first, end, _ in lost:
                centre = self.evidence.votes(first, end, self.weights)
                if centre is not None:
                    path[first:end] = self._near(first, end, centre, start=2 * BAND + 1)
                    found |= bool((path[first:end] != NOWHERE).any())
            if not found:
                break
        return self._with_exact_borders(path)

    def scores(self, run: Run) -> Float64[np.ndarray, " lines"]:
        """Return the nats by which each line of a run fits its partner, 0 for no partner."""
        first, end, offset = run
        if offset == NOWHERE:
            return np.zeros(end - first)
        return self.evidence.scores(first, end, offset, weights=self.weights, reach=0)[:, 0]

    def _near(self, first: int, end: int, centre: int, *, start: int) -> Int64[np.ndarray, " lines"]:
        """Return the best offsets within `BAND` of a centre, or `NOWHERE`; `start` is the state before the first line."""
        table = self.evidence.scores(first, end, centre, weights=self.weights)
        states = best_path(np.column_stack([table, np.zeros(len(table))]), start)
        return np.append(centre + np.arange(-BAND, BAND + 1), NOWHERE)[states]

    def _with_exact_borders(self, path: Int64[np.ndarray, " lines"]) -> Int64[np.ndarray, " lines"]:
        """Move each change of the offset to the line where it fits best."""
        begin = 0
        for before, after in pairwise(runs(path)):
            first, end = max(begin, after.first - AROUND), min(after.end, after.first + AROUND)
            one, other = (self.scores(Run(first, end, run.offset)) for run in (before, after))
            begin = first + best_border(one, other)
            path[first:begin], path[begin:end] = before.offset, after.offset
        return path


@dataclass(frozen=True)
class Alignment:
    """The offset of each line of a batch, and what says so."""

    path: Int64[np.ndarray, " lines"]
    aligner: Aligner


def align(batch: Batch, expected: int = 0) -> Alignment:
    """Find the offset of each line of a batch; the lines before it have the expected one.

    Lengths and tokens that both sides share show a first path. From the lines that fit on it a lexicon is learned, which
    shows a better one, and so on until nothing changes.
    """
    path = np.full(len(batch.source), expected)
    evidence = Evidence(batch, same_tokens(batch))
    counts = evidence.counts(path)
    furthest = min(REACH, max(BAND, len(path) // ENOUGH))
    offset = max(range(-furthest, furthest + 1), key=lambda one: weigh(counts, one).information)
    aligner = Aligner(evidence, evidence.tempered(weigh(counts, offset), path + offset))
    path = aligner.path(expected)
    for _ in range(ROUNDS):
        evidence = Evidence(batch, learn_lexicon(batch, path))
        aligner = Aligner(evidence, evidence.tempered(weigh(evidence.counts(path)), path))
        before, path = path, aligner.path(expected)
        if np.array_equal(before, path):
            break
    return Alignment(path, aligner)


def runs(path: Int64[np.ndarray, " lines"]) -> list[Run]:
    """Return the runs of equal offsets.

    >>> runs(np.array([0, 0, 1]))
    [Run(first=0, end=2, offset=0), Run(first=2, end=3, offset=1)]
    """
    edges = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    return [Run(first, end, int(path[first])) for first, end in pairwise(edges) if first < end]
