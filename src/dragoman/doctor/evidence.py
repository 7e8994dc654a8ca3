"""How much more likely each pair of lines is as a translation than as two lines of the same neighbourhood."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.doctor.lexicon import CLASSES, FOLDS, NONE, NOWHERE, Lexicon, fold_of, ragged
from dragoman.doctor.tokens import Batch

BAND = 5
"""A shift is looked for among offsets of up to so many lines around the one before."""
REACH = 2 * BAND
"""Offsets of up to so many lines are compared; those more than `BAND` from the right one show what chance does."""
WIDTH = 2 * REACH + 1
SAMPLE = 8192
"""Reliability is estimated from so many lines at most, spread evenly."""

ODD = 0.03
"""Part of the pairs that do not fit each other even where nothing is shifted."""
MOST = 8.0
"""Most nats for one pair."""
STRENGTHS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
"""Factors of the evidence; the first with which pairs taken by chance are not taken for translations too often."""
PRIOR = 10.0
"""Occurrences of a class, and pairs of lengths, that are thought to have been seen with no information in them."""

RARE_LINES = 20
"""A token tells where lines have gone if so many lines of the target contain it at most."""

_CLASSES = FOLDS * CLASSES
_STRATA, _BINS, _BIN = 4, 51, 0.1
_CELLS = FOLDS * _STRATA * _BINS
_UNKNOWN, _OUTSIDE = _CELLS, _CELLS + 1
_KERNEL = np.array([0.05, 0.25, 0.4, 0.25, 0.05])


@dataclass(frozen=True)
class Counts:
    """What has been seen in a sample of lines, at each offset around where their partners are expected."""

    occurrences: Int64[np.ndarray, " classes"]
    """Tokens of the source by which a partner may be recognised."""
    matches: Int64[np.ndarray, "classes offsets"]
    """Those of them that the line at an offset answers."""
    lengths: Int64[np.ndarray, "cells offsets"]
    """Cells of the two lengths."""


@dataclass(frozen=True)
class Weights:
    """Nats for each thing that two lines have in common or not."""

    match: Float64[np.ndarray, " classes"]
    miss: Float64[np.ndarray, " classes"]
    length: Float64[np.ndarray, " cells"]
    information: float
    """Nats that the sample gives for the offset that the weights were made for."""
    strength: float = 1.0


def weigh(counts: Counts, offset: int = 0) -> Weights:
    """Return the weights if partners are at `offset`: log-likelihood ratios against the lines more than `BAND` from there.

    Each fold is weighed by what was counted in the other.
    """
    near = np.abs(np.arange(-REACH, REACH + 1) - offset) <= BAND
    others = int((~near).sum())
    total, seen = counts.occurrences, counts.matches[:, offset + REACH]
    right, background = counts.lengths[:_CELLS, offset + REACH], counts.lengths[:_CELLS, ~near].sum(1)
    chance = (_other(counts.matches[:, ~near].sum(1)) + 1.0) / (others * _other(total) + 2.0 * others)
    share = np.maximum((_other(seen) + PRIOR * chance) / (_other(total) + PRIOR), chance)
    match, miss = np.log(share / chance), np.log((1 - share) / (1 - chance))
    usual = _smooth(_other(background)) + 0.5 / _BINS
    usual /= usual.sum()
    length = np.log((_smooth(_other(right)) + PRIOR * usual) / ((right.sum() + PRIOR) * usual))
    information = float((seen * match + (total - seen) * miss).sum() + (right * length).sum())
    return Weights(match, miss, np.append(length, (0.0, -np.inf)), information)


def _other(counts: Int64[np.ndarray, " counts"]) -> Int64[np.ndarray, " counts"]:
    """Exchange the halves, which are the two folds.

    >>> _other(np.array([1, 2, 3, 4])).tolist()
    [3, 4, 1, 2]
    """
    return np.roll(counts, len(counts) // FOLDS)


def _smooth(counts: Int64[np.ndarray, " cells"]) -> Float64[np.ndarray, " cells"]:
    """Spread counts over neighbouring ratios of the same stratum."""
    rows = counts.reshape(-1, _BINS)
    return np.concatenate([np.convolve(row, _KERNEL, "same") for row in rows])


class Evidence:
    """The evidence that a lexicon gives for the pairs of a batch."""

    def __init__(self, batch: Batch, lexicon: Lexicon) -> None:
        self.batch = batch
        self._row_bits = int(max(len(batch.source), len(batch.target)) + REACH).bit_length()
        source = batch.source
        fold = fold_of(source.rows)
        partners, classes = lexicon.partners[fold, source.types], lexicon.classes[fold, source.types]
        known = partners != NONE
        classes = fold * CLASSES + classes
        keys = (partners[known] << self._row_bits | source.rows[known]) * _CLASSES + classes[known]
        keys.sort()
        keys, classes = keys // _CLASSES, keys % _CLASSES
        last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
        self._keys, self._classes = keys[last], classes[last]
        self._rows = self._keys & (1 << self._row_bits) - 1
        wanted = np.zeros(len(batch.kinds), bool)
        wanted[lexicon.partners[lexicon.partners != NONE]] = True
        inside = wanted[batch.target.types]
        self._targets = np.sort(batch.target.types[inside] << self._row_bits | batch.target.rows[inside])
        positive = source.lengths[source.lengths > 0]
        self._quartiles = np.quantile(positive, (0.25, 0.5, 0.75)) if len(positive) else np.zeros(3)
        self._ratios = [np.round(np.log(side.lengths + 3.0) / _BIN).astype(np.int64) for side in (source, batch.target)]

    def counts(self, path: Int64[np.ndarray, " lines"]) -> Counts:
        """Count in a sample of the lines whose offset is known."""
        rows = _sample(path)
        found = self._compare(rows, path, REACH)
        cells = np.arange(WIDTH) + WIDTH * found.lengths
        matches = np.bincount(found.classes[found.which] * WIDTH + found.columns, minlength=_CLASSES * WIDTH)
        return Counts(
            np.bincount(found.classes, minlength=_CLASSES),
            matches.reshape(_CLASSES, WIDTH),
            np.bincount(cells.ravel(), minlength=(_CELLS + 2) * WIDTH).reshape(_CELLS + 2, WIDTH),
        )

    def tempered(self, weights: Weights, path: Int64[np.ndarray, " lines"]) -> Weights:
        """Return weights that are weak enough: the mean likelihood ratio of lines that do not belong together is at most 1.

        Tokens of a line depend on one another, so what they say together is less than the sum.
        """
        far = np.abs(np.arange(-REACH, REACH + 1)) > BAND
        table = self._add_up(_sample(path), path, weights, reach=REACH)[:, far]
        table = np.minimum(table[np.isfinite(table)], MOST)
        strength = next((one for one in STRENGTHS if np.exp(one * table).sum() <= table.size), STRENGTHS[-1])
        return replace(weights, strength=strength)

    def scores(
        self, first: int, last: int, offset: int, *, weights: Weights, reach: int = BAND
    ) -> Float64[np.ndarray, "rows offsets"]:
        """Return the nats for the rows from `first` up to `last`, at the offsets within `reach` of one."""
        rows = np.arange(first, last)
        table = weights.strength * self._add_up(rows, np.full(len(self.batch.source), offset), weights, reach=reach)
        return np.minimum(np.logaddexp(np.log(ODD), np.log1p(-ODD) + table), MOST)

    def votes(self, first: int, last: int, weights: Weights) -> int | None:
        """Return the offset that rare tokens of the rows from `first` up to `last` suggest, however far, if any do."""
        entries = np.flatnonzero((self._rows >= first) & (self._rows < last))
        types = self._keys[entries] >> self._row_bits
        low, high = (np.searchsorted(self._targets, (types + one) << self._row_bits) for one in (0, 1))
        sizes = np.where(high - low <= RARE_LINES, high - low, 0)
        which = np.repeat(np.arange(len(entries)), sizes)
        found = self._targets[ragged(low, sizes)] & (1 << self._row_bits) - 1
        if not len(found):
            return None
        distances = found - self._rows[entries[which]]
        tally = np.bincount(distances - distances.min(), weights.match[self._classes[entries[which]]])
        return int(tally.argmax() + distances.min()) - self.batch.origin

    def _add_up(
        self, rows: Int64[np.ndarray, " rows"], path: Int64[np.ndarray, " lines"], weights: Weights, *, reach: int
    ) -> Float64[np.ndarray, "rows offsets"]:
        """Return the sums of weights at all offsets within `reach` of the path; minus infinity where there is no line."""
        found = self._compare(rows, path, reach)
        width = 2 * reach + 1
        missed = np.bincount(found.rows, weights.miss[found.classes], minlength=len(rows))
        gained = (weights.match - weights.miss)[found.classes[found.which]]
        places = found.rows[found.which] * width + found.columns
        table = np.bincount(places, gained, minlength=len(rows) * width).reshape(len(rows), width)
        return table + missed[:, None] + weights.length[found.lengths]

    def _compare(
        self, rows: Int64[np.ndarray, " rows"], path: Int64[np.ndarray, " lines"], reach: int
    ) -> "_Comparison":
        """Compare rows with the target lines within `reach` of their offsets."""
        place = np.full(len(path), -1)
        place[rows] = np.arange(len(rows))
        entries = np.flatnonzero(place[self._rows] >= 0)
        source = self._rows[entries]
        expected = source + path[source] + self.batch.origin
        last = (1 << self._row_bits) - 1
        low, high = (
            np.searchsorted(self._targets, self._keys[entries] - source + np.clip(expected + edge, 0, last))
            for edge in (-reach, reach + 1)
        )
        sizes = high - low
        which = np.repeat(np.arange(len(entries)), sizes)
        columns = (self._targets[ragged(low, sizes)] & last) - expected[which] + reach
        return _Comparison(place[source], self._classes[entries], which, columns, self._cells(rows, path[rows], reach))

    def _cells(
        self, rows: Int64[np.ndarray, " rows"], offsets: Int64[np.ndarray, " rows"], reach: int
    ) -> Int64[np.ndarray, "rows offsets"]:
        """Return the cell of the two lengths of each pair."""
        source, target = self.batch.source, self.batch.target
        partners = (rows + offsets + self.batch.origin)[:, None] + np.arange(-reach, reach + 1)
        outside = (partners < 0) | (partners >= len(target))
        partners = np.where(outside, 0, partners)
        ratios = np.clip(self._ratios[1][partners] - self._ratios[0][rows, None] + _BINS // 2, 0, _BINS - 1)
        strata = fold_of(rows) * _STRATA + np.searchsorted(self._quartiles, source.lengths[rows])
        cells = strata[:, None] * _BINS + ratios
        cells[(source.lengths[rows] == 0)[:, None] | (target.lengths[partners] == 0)] = _UNKNOWN
        cells[outside] = _OUTSIDE
        return cells


@dataclass(frozen=True)
class _Comparison:
    """What rows of the source have in common with lines of the target."""

    rows: Int64[np.ndarray, " entries"]
    """Which of the rows each token is in."""
    classes: Int64[np.ndarray, " entries"]
    which: Int64[np.ndarray, " matches"]
    """The token that has been found in the line at an offset."""
    columns: Int64[np.ndarray, " matches"]
    """Number of that offset."""
    lengths: Int64[np.ndarray, "rows offsets"]
    """Cells of the lengths."""


def _sample(path: Int64[np.ndarray, " lines"]) -> Int64[np.ndarray, " rows"]:
    """Return rows whose offset is known, not too many."""
    rows = np.flatnonzero(path != NOWHERE)
    return rows[:: max(-(-len(rows) // SAMPLE), 1)]
