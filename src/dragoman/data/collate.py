"""Collate sentences into rectangles: the only place where padding happens.

NumPy fills them. Training collates in a thread of its own, in which torch would start a second team of OpenMP threads; with more
of them than cores, those that wait for work fall asleep at once, and the steps of training take half as long again.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int

from dragoman.data.links import TokenLinks
from dragoman.interfaces import Batch, Padded, Previous
from dragoman.special_ids import SPECIAL_IDS, SpecialIds

Ids = Sequence[int] | Int[np.ndarray, " _"]
"""One sentence, without special tokens."""


def collate(
    pairs: Sequence[tuple[Ids, Ids]],
    *,
    previous: Sequence[Sequence[Ids | None]] | None = None,
    links: Sequence[TokenLinks | None] | None = None,
    special: SpecialIds = SPECIAL_IDS,
) -> Batch:
    """Make a batch of sentence pairs given without special tokens: source + EOS, BOS + target + EOS.

    `previous` is that of `pad`. `links` holds the token alignment of each pair, if it is known; EOS is never linked.

    >>> batch = collate([([7, 8], [9]), ([7], [9, 9])])
    >>> batch.source.ids.tolist(), batch.target.ids.tolist()
    ([[7, 8, 2], [7, 2, 0]], [[1, 9, 2, 0], [1, 9, 9, 2]])
    """
    source = pad([source for source, _ in pairs], previous, special)
    target = _rectangle([target for _, target in pairs], [special.bos], special)
    if links is None:
        return Batch(source, target)
    linked = np.zeros((len(pairs), target.ids.shape[1] - 1, source.ids.shape[1]), dtype=bool)
    for row, alignment in zip(linked, links, strict=True):
        if alignment is not None:
            row[: alignment.shape[0], : alignment.shape[1]] = alignment
    return Batch(source, target, torch.from_numpy(linked))


def pad(
    sentences: Sequence[Ids],
    previous: Sequence[Sequence[Ids | None]] | None = None,
    special: SpecialIds = SPECIAL_IDS,
) -> Padded:
    """Pad source sentences, given without special tokens, to one rectangle, with EOS after each (`SpecialIds.ended`).

    `previous` gives for each sentence the same number of sentences that precede it in its document, nearest last, with None
    for missing ones.

    >>> pad([[7], []]).mask.tolist()
    [[True, True], [True, False]]
    """
    padded = _rectangle(sentences, [], special)
    if previous is None:
        return padded
    before = _rectangle([sentence for row in previous for sentence in row], [], special, least=1)
    shape = (len(sentences), max(map(len, previous), default=0), before.ids.shape[1])
    return replace(padded, previous=Previous(before.ids.reshape(shape), before.mask.reshape(shape)))


def _rectangle(
    sentences: Sequence[Ids | None], before: Sequence[int], special: SpecialIds, *, least: int = 0
) -> Padded:
    """Pad sentences on the right, with `before` ahead of each and EOS after it; None gives only padding.

    The rectangle has at least `least` columns.
    """
    counts = np.array([0 if ids is None else len(ids) for ids in sentences], dtype=np.int64)
    present = np.array([ids is not None for ids in sentences], dtype=bool)
    ending = present.copy()
    if special.tags:
        ending &= [ids is None or not special.closed(list(ids[-2:])) for ids in sentences]
    lengths = np.where(present, len(before) + counts, 0) + ending
    ids = np.full((len(sentences), lengths.max(initial=least)), special.pad, dtype=np.int64)
    columns = np.arange(ids.shape[1])
    ids[present, : len(before)] = before
    if counts.any():
        inside = (columns >= len(before)) & (columns < len(before) + counts[:, None])
        ids[inside] = np.concatenate([one for one in sentences if one is not None], dtype=np.int64, casting="unsafe")
    ids[ending, lengths[ending] - 1] = special.eos
    return Padded(torch.from_numpy(ids), torch.from_numpy(columns < lengths[:, None]))
