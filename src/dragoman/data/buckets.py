"""Batches of about equal cost, of sentences of about equal length."""

import numpy as np
from jaxtyping import Int, Int32

POOL = 1 << 17
"""Pairs that are sorted together; a corpus of no more is one pool, so that its batches are drawn from all of it."""

BLOCK = 1 << 10
"""Neighbouring pairs of a larger corpus that go into the same pool."""

SEGMENTS = 16
"""A full batch is put together from about this many segments of neighbouring pairs."""

OVERHEAD = 0.2
"""Cost of another batch beyond its cells, as a share of a full side: higher means larger batches and more padding."""

Lengths = Int32[np.ndarray, " pairs"]
Indices = Int[np.ndarray, " pairs"]
Members = Int[np.ndarray, " _"]
"""Indices of the pairs of one batch."""


def pools(pairs: int, rng: np.random.Generator, pool: int = POOL, *, block: int = BLOCK) -> list[list[range]]:
    """Distribute the blocks of a corpus at random over pools of similar sizes, of about `pool` pairs or fewer.

    >>> pools(5, np.random.default_rng(1), pool=10)
    [[range(0, 5)]]
    """
    if pairs <= pool:
        return [[range(pairs)]]
    starts = rng.permutation(np.arange(0, pairs, block)).tolist()
    blocks = [range(start, min(start + block, pairs)) for start in starts]
    count = -(-pairs // pool)
    return [blocks[first::count] for first in range(count)]


def split_evenly(rows: int, count: int) -> list[range]:
    """Divide the rows of a batch into at most `count` ranges of almost the same length.

    >>> split_evenly(5, 2), split_evenly(1, 3)
    ([range(0, 2), range(2, 5)], [range(0, 1)])
    """
    count = min(count, rows)
    return [range(rows * number // count, rows * (number + 1) // count) for number in range(count)]


def batches(
    indices: Indices, source: Lengths, target: Lengths, *, tokens: int, rng: np.random.Generator
) -> list[Members]:
    """Group pairs of similar lengths into batches, in random order, of at most `tokens` in rows times longest sentence.

    `source` and `target` are the lengths of the pairs `indices`, special tokens included. The longer side counts, so
    that neither side of a batch is larger than `tokens`; a larger pair forms a batch of its own. Pairs of
    equal lengths are shuffled by `rng`.
    """
    order = sort_by_length(source, target, rng)
    groups = np.split(indices[order], batch_boundaries(source[order], target[order], tokens))
    return [groups[at] for at in rng.permutation(len(groups))]


def sort_by_length(source: Lengths, target: Lengths, rng: np.random.Generator) -> Indices:
    """Order pairs by target length, then by source length upwards and downwards in turn, then at random."""
    direction = np.where(target % 2 == 0, 1, -1)
    return np.lexsort((rng.random(len(source)), direction * source, target))


def batch_boundaries(source: Lengths, target: Lengths, tokens: int) -> list[int]:
    """Return where to split a sequence of pairs into batches at minimum cost.

    The cost is the cells of all rectangles, padding included, and for each batch OVERHEAD of `tokens`. Boundaries
    are chosen among those of segments, by dynamic programming over where the last batch before each of them begins.

    >>> batch_boundaries(np.int32([3, 3, 3, 9, 9]), np.int32([3, 3, 3, 8, 9]), tokens=18)
    [3]
    """
    edges = np.array([0, *_segment_ends(np.maximum(source, target), tokens // SEGMENTS), len(source)])
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
    boundaries, end = list[int](), begins[-1]
    while end > 0:
        boundaries.append(int(edges[end]))
        end = begins[end]
    return boundaries[::-1]


def _segment_ends(lengths: Lengths, tokens: int) -> list[int]:
    """Return where a sequence is split so that in each segment rows times longest is at most `tokens`, or there is one row.

    >>> _segment_ends(np.int32([2, 2, 3, 4, 9, 1]), tokens=6)
    [2, 3, 4, 5]
    """
    boundaries = []
    start, longest = 0, 0
    for at, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if at > start and longest * (at - start + 1) > tokens:
            boundaries.append(at)
            start, longest = at, length
    return boundaries
