"""Sentences into rectangles: the one place where padding happens."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int

from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded

Ids = Sequence[int] | Int[np.ndarray, " _"]
"""One sentence, without special pieces."""


def collate(pairs: Sequence[tuple[Ids, Ids]]) -> Batch:
    """Make a batch of sentence pairs given without special pieces: source + EOS, BOS + target + EOS.

    >>> batch = collate([([7, 8], [9]), ([7], [9, 9])])
    >>> batch.source.ids.tolist(), batch.target.ids.tolist()
    ([[7, 8, 2], [7, 2, 0]], [[1, 9, 2, 0], [1, 9, 9, 2]])
    """
    return Batch(pad([source for source, _ in pairs]), _rectangle([target for _, target in pairs], [BOS]))


def pad(sentences: Sequence[Ids]) -> Padded:
    """Put source sentences, given without special pieces, in one rectangle, EOS after each.

    >>> pad([[7], []]).mask.tolist()
    [[True, True], [True, False]]
    """
    return _rectangle(sentences, [])


def padding(batch: Batch) -> float:
    """Return the share of a batch's cells, both sides together, that are padding.

    >>> round(padding(collate([([7, 8], [9]), ([7], [9])])), 3)
    0.083
    """
    masks = (batch.source.mask, batch.target.mask)
    return 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)


def _rectangle(sentences: Sequence[Ids], before: Sequence[int]) -> Padded:
    """Pad sentences on the right, with `before` ahead of each and EOS after it."""
    lengths = np.array([len(before) + len(sentence) + 1 for sentence in sentences], dtype=np.int64)
    ids = np.full((len(sentences), lengths.max(initial=0)), PAD, dtype=np.int64)
    for row, sentence, length in zip(ids, sentences, lengths, strict=True):
        row[: len(before)] = before
        row[len(before) : length - 1] = sentence
        row[length - 1] = EOS
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    return Padded(torch.from_numpy(ids), torch.from_numpy(mask))
