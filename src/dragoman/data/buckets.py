"""Batches of about equal cost, of sentences of about equal length."""

import numpy as np
from jaxtyping import Int, Int32

POOL = 1 << 17
"""Pairs that are sorted together; a corpus of no more is one pool, so that its batches are drawn from all of it."""

RUN = 1 << 10
"""Neighbouring pairs of a larger corpus that go into the same pool."""

BITS = 16
"""A full batch is put together from about so many bits of neighbouring pairs."""

OVERHEAD = 0.2
"""What another batch costs beyond its cells, as a share of a full side: more means larger batches and more padding."""

Lengths = Int32[np.ndarray, " pairs"]
Indices = Int[np.ndarray, " pairs"]
Members = Int[np.ndarray, " _"]
"""Indices of the pairs of one batch."""


def pools(pairs: int, rng: np.random.Generator, pool: int = POOL, run: int = RUN) -> list[list[range]]:
    """Deal the runs of a corpus out at random into pools of like sizes, of about `pool` pairs or fewer.

    >>> pools(5, np.random.default_rng(1), pool=10)
    [[range(0, 5)]]
    """
    if pairs <= pool:
        return [[range(pairs)]]
    starts = rng.permutation(np.arange(0, pairs, run)).tolist()
    runs = [range(start, min(start + run, pairs)) for start in starts]
    count = -(-pairs // pool)
    return [runs[first::count] for first in range(count)]


def batches(
    indices: Indices, source: Lengths, target: Lengths, *, tokens: int, rng: np.random.Generator
) -> list[Members]:
    """Group pairs of like lengths into batches, in random order, of at most `tokens` in rows times longest sentence.

    `source` and `target` are the lengths of the pairs `indices`, special pieces included. The longer side counts, so
    that neither side of a batch is larger than `tokens`; a pair that alone is larger makes a batch of its own. Pairs of
    equal lengths are dealt anew by each `rng`.
    """
    order = sort_by_length(source, target, rng)
    groups = np.split(indices[order], cut(source[order], target[order], tokens))
    return [groups[at] for at in rng.permutation(len(groups))]


def sort_by_length(source: Lengths, target: Lengths, rng: np.random.Generator) -> Indices:
    """Order pairs by target length, then by source length upwards and downwards in turn, then at random."""
    direction = np.where(target % 2 == 0, 1, -1)
    return np.lexsort((rng.random(len(source)), direction * source, target))


def cut(source: Lengths, target: Lengths, tokens: int) -> list[int]:
    """Return where to cut a sequence of pairs into batches so that the cost is least.

    The cost is the cells of all rectangles, padding included, and for each batch OVERHEAD of `tokens`. Cuts are sought
    between bits of a batch, by dynamic programming over where the last batch before each bit begins.

    >>> cut(np.int32([3, 3, 3, 9, 9]), np.int32([3, 3, 3, 8, 9]), tokens=18)
    [3]
    """
    edges = np.array([0, *_fill(np.maximum(source, target), tokens // BITS), len(source)])
    source, target = np.maximum.reduceat(source, edges[:-1]), np.maximum.reduceat(target, edges[:-1])
    best, begins, first = np.zeros(len(edges)), [0], 0
    for end in range(1, len(edges)):
        rows = edges[end] - edges[first:end]
        sources = np.maximum.accumulate(source[first:end][::-1])[::-1]
        targets = np.maximum.accumulate(target[first:end][::-1])[::-1]
        fits = rows * np.maximum(sources, targets) <= tokens
        fits[-1] = True
        cost = np.where(fits, best[first:end] + rows * (sources + targets) + OVERHEAD * tokens, np.inf)
        begins.append(first + int(cost.argmin()))
        best[end] = cost.min()
        first += int(fits.argmax())
    cuts, end = list[int](), begins[-1]
    while end > 0:
        cuts.append(int(edges[end]))
        end = begins[end]
    return cuts[::-1]


def _fill(lengths: Lengths, tokens: int) -> list[int]:
    """Cut a sequence so that in each part rows times longest is at most `tokens`, or there is one row.

    >>> _fill(np.int32([2, 2, 3, 4, 9, 1]), tokens=6)
    [2, 3, 4, 5]
    """
    cuts = []
    start, longest = 0, 0
    for at, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if at > start and longest * (at - start + 1) > tokens:
            cuts.append(at)
            start, longest = at, length
    return cuts
