"""Which target tokens each source token is likely to become, learned from pairs with IBM model 1."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int32, Int64

from dragoman.special_ids import PAD

ITERATIONS = 5
"""Passes of expectation and maximisation."""


def likely_targets(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]],
    sizes: tuple[int, int],
    count: int,
    *,
    padding: tuple[int, int] = (PAD, PAD),
) -> Int32[np.ndarray, "source {count}"]:
    """Return the `count` most probable target ids of each source id, best first, padded with PAD.

    `sizes` are those of the two vocabularies, `padding` their ids of PAD. t(e | f) is learned by expectation-maximisation
    from equal values (Brown et al. 1993, section 4.1). The row of PAD belongs to the empty source word, which is part of every
    sentence.
    """
    keys, positions = _combinations(pairs, sizes[1], padding[0])
    known, index = np.unique(keys, return_inverse=True)
    sources, probabilities = known // sizes[1], np.ones(len(known))
    for _ in range(ITERATIONS if len(known) else 0):
        shares = probabilities[index]
        shares /= np.bincount(positions, shares)[positions]
        expected = np.bincount(index, shares, len(known))
        probabilities = expected / np.bincount(sources, expected)[sources]
    order = np.lexsort((known, -probabilities, sources))
    sources, targets = sources[order], (known % sizes[1])[order]
    rank = np.arange(len(order)) - np.searchsorted(sources, sources)
    table = np.full((sizes[0], count), padding[1], np.int32)
    table[sources[rank < count], rank[rank < count]] = targets[rank < count]
    return table


def frequent_targets(pairs: Iterable[tuple[Sequence[int], Sequence[int]]], count: int) -> Int32[np.ndarray, " few"]:
    """Return up to `count` most frequent target ids; ties go to the smallest.

    >>> frequent_targets([([4], [7, 8, 7]), ([5], [8, 7])], 1).tolist()
    [7]
    """
    counts = np.bincount([token for _, target in pairs for token in target])
    order = np.argsort(-counts, kind="stable")[:count]
    return order[counts[order] > 0].astype(np.int32)


def _combinations(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], targets: int, empty: int
) -> tuple[Int64[np.ndarray, " links"], Int64[np.ndarray, " links"]]:
    """Return each source id, and that of the `empty` word, with each target id of its pair, as one number, and the target's
    position."""
    keys, positions, before = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for source, target in pairs:
        words = np.array([empty, *source], np.int64)
        keys.append((words[:, None] * targets + np.array(target, np.int64)).ravel())
        positions.append(np.tile(np.arange(before, before + len(target)), len(words)))
        before += len(target)
    return np.concatenate(keys), np.concatenate(positions)
