"""Sentences into rectangles: the one place where padding happens."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int

from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded, Previous

Ids = Sequence[int] | Int[np.ndarray, " _"]
"""One sentence, without special pieces."""

PieceLinks = Bool[np.ndarray, "_ _"]
"""Which source pieces (second axis) each target piece (first axis) translates, without special pieces."""


def collate(
    pairs: Sequence[tuple[Ids, Ids]],
    *,
    previous: Sequence[Sequence[Ids | None]] | None = None,
    links: Sequence[PieceLinks | None] | None = None,
) -> Batch:
    """Make a batch of sentence pairs given without special pieces: source + EOS, BOS + target + EOS.

    `previous` is that of `pad`. `links` says of each pair which pieces are linked, where it is known; EOS never is.

    >>> batch = collate([([7, 8], [9]), ([7], [9, 9])])
    >>> batch.source.ids.tolist(), batch.target.ids.tolist()
    ([[7, 8, 2], [7, 2, 0]], [[1, 9, 2, 0], [1, 9, 9, 2]])
    """
    source, target = pad([source for source, _ in pairs], previous), _rectangle([target for _, target in pairs], [BOS])
    linked = None
    if links is not None:
        linked = torch.zeros((len(pairs), target.ids.shape[1] - 1, source.ids.shape[1]), dtype=torch.bool)
        for row, pieces in zip(linked, links, strict=True):
            if pieces is not None:
                row[: pieces.shape[0], : pieces.shape[1]] = torch.from_numpy(pieces)
    return Batch(source, target, linked)


def pad(sentences: Sequence[Ids], previous: Sequence[Sequence[Ids | None]] | None = None) -> Padded:
    """Put source sentences, given without special pieces, in one rectangle, EOS after each.

    `previous` gives for each sentence equally many that stand before it in its document, nearest last, and None where
    there is none.

    >>> pad([[7], []]).mask.tolist()
    [[True, True], [True, False]]
    """
    padded = _rectangle(sentences, [])
    if previous is None:
        return padded
    before = _rectangle([sentence for row in previous for sentence in row], [], least=1)
    shape = (len(sentences), max(map(len, previous), default=0), before.ids.shape[1])
    return replace(padded, previous=Previous(before.ids.reshape(shape), before.mask.reshape(shape)))


def padding(batch: Batch) -> float:
    """Return the share of a batch's cells, both sides together, that are padding.

    >>> round(padding(collate([([7, 8], [9]), ([7], [9])])), 3)
    0.083
    """
    masks = (batch.source.mask, batch.target.mask)
    return 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)


def _rectangle(sentences: Sequence[Ids | None], before: Sequence[int], *, least: int = 0) -> Padded:
    """Pad sentences on the right, with `before` ahead of each and EOS after it; None gives padding alone.

    The rectangle has at least `least` columns.
    """
    lengths = np.array([0 if one is None else len(before) + len(one) + 1 for one in sentences], dtype=np.int64)
    ids = np.full((len(sentences), lengths.max(initial=least)), PAD, dtype=np.int64)
    for row, sentence, length in zip(ids, sentences, lengths, strict=True):
        if sentence is None:
            continue
        row[: len(before)] = before
        row[len(before) : length - 1] = sentence
        row[length - 1] = EOS
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    return Padded(torch.from_numpy(ids), torch.from_numpy(mask))
