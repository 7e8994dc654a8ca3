"""Batches of ids that the laws are tried on."""

from dataclasses import replace

import torch
from tests.laws.architectures import VOCABULARY
from torch import Tensor

from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded, Previous

LENGTHS = [5, 3, 1, 4]


def source(lengths: list[int], seed: int = 1, vocabulary: int = VOCABULARY) -> Padded:
    """Random sentences that end with EOS; models of documents also read none, one or two that stood before each."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)), generator=generator)
    return replace(_ended(ids, torch.tensor(lengths)), previous=_previous(len(lengths), generator, vocabulary))


def target(rows: int, length: int, seed: int = 2) -> Tensor:
    """Random prefixes that begin with BOS."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCABULARY, (rows, length), generator=generator)
    ids[:, 0] = BOS
    return ids


def batch(source_lengths: list[int], target_lengths: list[int], seed: int = 3) -> Batch:
    """Random pairs; target lengths count BOS and EOS."""
    begun = target(len(target_lengths), max(target_lengths), seed)
    return Batch(source(source_lengths, seed), _ended(begun, torch.tensor(target_lengths)))


def _previous(rows: int, generator: torch.Generator, vocabulary: int) -> Previous:
    """Two previous sentences for each row, of which the third row lacks one and the fourth both, and so on."""
    lengths = torch.randint(1, 5, (rows, 2), generator=generator)
    lengths[2::4, 0] = 0
    lengths[3::4] = 0
    flat = _ended(torch.randint(4, vocabulary, (2 * rows, 4), generator=generator), lengths.flatten())
    return Previous(flat.ids.unflatten(0, (rows, 2)), flat.mask.unflatten(0, (rows, 2)))


def _ended(ids: Tensor, lengths: Tensor) -> Padded:
    """End each row with EOS and pad what follows."""
    places = torch.arange(ids.shape[1])
    mask = places < lengths[:, None]
    return Padded(ids.masked_fill(places == lengths[:, None] - 1, EOS).masked_fill(~mask, PAD), mask)
