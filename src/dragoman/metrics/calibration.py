"""From features to probabilities, and whether they can be believed: logistic and isotonic regression, reliability, AUROC.

Does not import torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

BINS = 10
ITERATIONS = 50
"""Maximum number of Newton steps; a handful is enough unless the labels are separable."""
CONVERGED = 1e-9
FREE = 1e-6
"""Penalty of the bias, which alone keeps it finite where all labels are equal."""
EXTREME = 4.0
"""Standardised features are cut off at so many standard deviations, so that no single one decides everything."""


@dataclass(frozen=True)
class Logistic:
    """Logistic regression on standardised features."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    favourable: float = EXTREME
    """Where a feature makes the label 1 more probable, it is cut off at so many standard deviations."""

    def __call__(self, features: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        """Return the probability of the label 1 for each row."""
        return _sigmoid(self.logits(features))

    def logits(self, features: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        """Return the logarithms of the odds of the label 1."""
        sign = np.where(np.array(self.weights) < 0, -1.0, 1.0)
        standard = sign * (features - np.array(self.means)) / np.array(self.deviations)
        return np.clip(standard, -EXTREME, self.favourable) @ np.abs(self.weights) + self.bias


@dataclass(frozen=True)
class Isotonic:
    """A function that never falls: linear between its points, constant outside."""

    scores: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, scores: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
        """Return the value at each score."""
        return np.interp(scores, self.scores, self.values)


@dataclass(frozen=True)
class Bin:
    """Predictions of similar size: their mean, the share of labels 1 among them, and their number."""

    predicted: float
    observed: float
    count: int


class _Block(NamedTuple):
    """Labels that share one value: the sums of their scores and of themselves, and their number."""

    scores: float
    labels: float
    size: float


def fit_logistic(
    features: Float[np.ndarray, "row feature"],
    labels: Float[np.ndarray, " row"],
    ridge: float = 1.0,
    *,
    favourable: float = EXTREME,
) -> Logistic:
    """Fit labels, which may be shares from 0 to 1, by Newton's method; `ridge` is half the penalty on squared weights.

    With `favourable`, the weights are those without, and the bias is fitted again to what is left of the features.

    >>> model = fit_logistic(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 1.0, 1.0]))
    >>> model(np.array([[0.5], [2.5]])).round(2).tolist()
    [0.3, 0.7]
    """
    means, deviations = features.mean(0), features.std(0)
    deviations = np.where(deviations > 1e-12, deviations, 1.0)
    table = np.clip((features - means) / deviations, -EXTREME, EXTREME)
    constant = np.ones((len(table), 1))
    *weights, bias = _minimise(np.hstack([table, constant]), labels, [*[ridge] * features.shape[1], FREE]).tolist()
    found = Logistic(tuple(means.tolist()), tuple(deviations.tolist()), tuple(weights), bias)
    if favourable == EXTREME:
        return found
    bounded = replace(found, bias=0.0, favourable=favourable)
    (bias,) = _minimise(constant, labels, [FREE], logits=bounded.logits(features)).tolist()
    return replace(bounded, bias=bias)


def _minimise(
    table: Float[np.ndarray, "row weight"],
    labels: Float[np.ndarray, " row"],
    penalties: Sequence[float],
    *,
    logits: Float[np.ndarray, " row"] | float = 0.0,
) -> Float[np.ndarray, " weight"]:
    """Return the weights with the smallest loss, and half of their penalties, by Newton's method; `logits` are added."""
    penalty, weights = np.diag(penalties), np.zeros(table.shape[1])
    for _ in range(ITERATIONS):
        predicted = _sigmoid(logits + table @ weights)
        gradient = table.T @ (predicted - labels) + penalty @ weights
        curvature = (table * (predicted * (1 - predicted))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < CONVERGED:
            break
    return weights


def fit_isotonic(scores: Float[np.ndarray, " row"], labels: Float[np.ndarray, " row"], least: int = 1) -> Isotonic:
    """Fit the rising function with the smallest squared error by pooling adjacent violators (Ayer et al. 1955).

    Equal scores are pooled first. Blocks of fewer than `least` labels are merged with the next. Deviation: between the means of
    blocks the function is linear, not a staircase.

    >>> fit_isotonic(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0, 1.0])).values
    (0.0, 0.5, 1.0)
    """
    values, place = np.unique(scores, return_inverse=True)
    blocks: list[_Block] = []
    pending = _Block(0.0, 0.0, 0.0)
    rows = zip(values, np.bincount(place, labels), np.bincount(place), strict=True)
    for value, good, count in rows:
        pending = _joined(pending, _Block(float(value * count), float(good), float(count)))
        if pending.size >= least:
            blocks = _pooled([*blocks, pending])
            pending = _Block(0.0, 0.0, 0.0)
    if pending.size:
        blocks = _pooled([*blocks[:-1], _joined(blocks[-1], pending) if blocks else pending])
    return Isotonic(tuple(one.scores / one.size for one in blocks), tuple(one.labels / one.size for one in blocks))


def _pooled(blocks: Sequence[_Block]) -> list[_Block]:
    """Merge the last block with those before it until their shares of labels rise."""
    pooled = list(blocks)
    while len(pooled) > 1 and pooled[-2].labels * pooled[-1].size >= pooled[-1].labels * pooled[-2].size:
        pooled[-2:] = [_joined(pooled[-2], pooled[-1])]
    return pooled


def _joined(one: _Block, other: _Block) -> _Block:
    """Add two blocks."""
    return _Block(one.scores + other.scores, one.labels + other.labels, one.size + other.size)


def reliability(predicted: Float[np.ndarray, " row"], labels: Float[np.ndarray, " row"], bins: int = BINS) -> list[Bin]:
    """Sort predictions into bins of equal size, and return what was predicted and what came true in each.

    >>> reliability(np.array([0.1, 0.3, 0.8, 0.8]), np.array([0.0, 1.0, 1.0, 1.0]), bins=2)
    [Bin(predicted=0.2, observed=0.5, count=2), Bin(predicted=0.8, observed=1.0, count=2)]
    """
    parts = np.array_split(np.argsort(predicted, kind="stable"), bins)
    return [Bin(float(predicted[rows].mean()), float(labels[rows].mean()), len(rows)) for rows in parts if len(rows)]


def expected_calibration_error(
    predicted: Float[np.ndarray, " row"], labels: Float[np.ndarray, " row"], bins: int = BINS
) -> float:
    """Return the mean distance between predicted and observed over the bins of `reliability`, weighted by their sizes.

    Naeini et al. 2015; deviation: bins hold equally many predictions instead of being equally wide, so that none is empty.

    >>> round(expected_calibration_error(np.array([0.1, 0.3, 0.8, 0.8]), np.array([0.0, 1.0, 1.0, 1.0]), bins=2), 2)
    0.25
    """
    found = reliability(predicted, labels, bins)
    return sum(abs(one.predicted - one.observed) * one.count for one in found) / len(labels)


def error_by_chance(predicted: Float[np.ndarray, " row"], bins: int = BINS, draws: int = 200) -> float:
    """Return the expected calibration error of perfect probabilities on so many labels, the mean of draws: never 0.

    >>> error_by_chance(np.full(100, 0.5)) > error_by_chance(np.full(10000, 0.5)) > 0
    True
    """
    chance = np.random.default_rng(1)
    errors = [
        expected_calibration_error(predicted, (chance.random(len(predicted)) < predicted).astype(float), bins)
        for _ in range(draws)
    ]
    return float(np.mean(errors))


def auroc(scores: Float[np.ndarray, " row"], labels: Shaped[np.ndarray, " row"]) -> float:
    """Return the probability that a row with label 1 scores higher than one with label 0; ties count half (Mann-Whitney U).

    >>> auroc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    positive = labels.astype(bool)
    count, others = int(positive.sum()), int((~positive).sum())
    if not count or not others:
        raise ValueError("AUROC needs rows of both labels")
    _, place, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[place]
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def folds(count: int, parts: int, seed: int = 1) -> Int[np.ndarray, " {count}"]:
    """Assign each row to one of `parts` parts at random, as evenly as possible.

    >>> sorted(folds(5, 2).tolist())
    [0, 0, 0, 1, 1]
    """
    return np.random.default_rng(seed).permutation(np.arange(count) % parts)


def _sigmoid(values: Sequence[float] | Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(values)))
