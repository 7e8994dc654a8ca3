"""Word dropout: some words that a model reads in training are unknown to it."""

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dragoman.special_ids import SpecialIds


def drop_words(ids: Int[Tensor, "*shape"], rate: float, special: SpecialIds) -> Int[Tensor, "*shape"]:
    """Replace each token by `<unk>` with probability `rate`, never a special one (Nguyen and Salazar 2019, section 4).

    Each occurrence of a token is drawn for itself, by torch's random state, which a checkpoint keeps. Gal and Ghahramani (2016)
    drop all occurrences of a word in a sentence, as a zero vector.
    """
    return ids.masked_fill((torch.rand(ids.shape, device=ids.device) < rate) & ~is_special(ids, special), special.unk)


def is_special(ids: Int[Tensor, "*shape"], special: SpecialIds) -> Bool[Tensor, "*shape"]:
    """Return where ids are those of special tokens."""
    found: Any = False
    for one in special.all:
        found = (ids == one) | found
    return torch.as_tensor(found)
