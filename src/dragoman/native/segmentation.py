"""Byte pair encoding with dropout in C++ (`segmentation.cpp`): many words at once.

What it computes is defined by `text/sampling.py::BpeDropout`; tests compare segmentations and random numbers.
"""

import random

import torch
from jaxtyping import Int32, Int64
from numpy import ndarray
from torch import from_numpy


def drop_merges(
    symbols: Int32[ndarray, " symbols"],
    ends: Int64[ndarray, " words"],
    merges: tuple[Int64[ndarray, " begins"], Int32[ndarray, " merges"], Int32[ndarray, " merges"]],
    *,
    rng: random.Random,
    rate: float,
) -> None:
    """Merge the symbols of words, each merge dropped with probability `rate`; requires that `SEGMENTATION` is loaded.

    `ends` is where each word ends. Its first symbols become those that are left, and its entry in `ends` how many these are.
    `merges` is `begins`, `rights` and `merged` as in `data/sampling.py::Merges`. Raises RuntimeError if they do not fit the
    symbols.
    """
    version, state, gauss = rng.getstate()
    held = torch.tensor(state, dtype=torch.int64)
    torch.ops.dragoman_segmentation.drop_merges.default(
        from_numpy(symbols), from_numpy(ends), *map(from_numpy, merges), held, rate
    )
    rng.setstate((version, tuple(held.tolist()), gauss))
