"""Test cases for the laws: small batches of ids, and models whose weights are so large that a leak shows."""

from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded, Previous
from dragoman.layers.residual import RmsNorm
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

Architecture = Any
"""The settings of a model, built-in or from a plugin."""

LENGTHS = [5, 3, 1, 4]
VOCABULARY = 13


def source(lengths: list[int], seed: int = 1, vocabulary: int = VOCABULARY) -> Padded:
    """Return random sentences that end with EOS; document models also get none, one or two previous sentences for each."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, vocabulary, (len(lengths), max(lengths)), generator=generator)
    return replace(_ended(ids, torch.tensor(lengths)), previous=_previous(len(lengths), generator, vocabulary))


def target(rows: int, length: int, seed: int = 2) -> Tensor:
    """Return random prefixes that start with BOS."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCABULARY, (rows, length), generator=generator)
    ids[:, 0] = BOS
    return ids


def batch(source_lengths: list[int], target_lengths: list[int], seed: int = 3) -> Batch:
    """Return random pairs; target lengths count BOS and EOS."""
    begun = target(len(target_lengths), max(target_lengths), seed)
    return Batch(source(source_lengths, seed), _ended(begun, torch.tensor(target_lengths)))


def _previous(rows: int, generator: torch.Generator, vocabulary: int) -> Previous:
    """Return two previous sentences for each row; the third row lacks one, the fourth both, and so on."""
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


def model_of(architecture: Architecture, vocabulary: int = VOCABULARY) -> Seq2Seq:
    """Return the model with weights so large that leaks show, without dropout; the same at every call."""
    return _model(architecture, vocabulary).eval()


def fresh_model(architecture: Architecture, vocabulary: int = VOCABULARY, *, seed: int = 5) -> Seq2Seq:
    """Return a new model with the initial weights of training."""
    torch.manual_seed(seed)
    model = build_model(architecture, Vocabularies(vocabulary, vocabulary, shared=True))
    assert isinstance(model, Seq2Seq)
    return model


@cache
def _model(architecture: Architecture, vocabulary: int) -> Seq2Seq:
    model = fresh_model(architecture, vocabulary)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                noise = torch.randn(parameter.shape, generator=generator)
                if isinstance(module, nn.LayerNorm | RmsNorm) and name == "weight":
                    parameter.copy_(1 + 0.3 * noise)
                elif parameter.dim() > 0:
                    parameter.copy_(0.8 * noise)
    return model
