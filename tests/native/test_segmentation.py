"""Byte pair encoding with dropout in C++: the segmentations and random numbers of the definition in Python."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from tests.native.compiled import require

from dragoman.data.sampling import merges_of
from dragoman.native.compilation import SEGMENTATION
from dragoman.native.segmentation import drop_merges
from dragoman.text.sampling import BpeDropout, merge_unknown
from dragoman.text.vocabulary import Vocabulary

PIECES = ["ab", "bc", "abc", "cab", "aa", "abcab", "bx", "é😀", "a", "b", "c", "é"]
"""The pieces of `DROPOUT`; x and 😀 occur in some, but are none."""

DROPOUT = BpeDropout(Vocabulary(PIECES))
MERGES = merges_of(DROPOUT)


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    require(SEGMENTATION)


def segment(words: list[str], rng: random.Random, rate: float) -> list[list[int]]:
    """Segment words in C++."""
    symbols = np.array([MERGES.characters[ord(character)] for word in words for character in word], np.int32)
    lengths = np.array([len(word) for word in words], np.int64)
    counts = lengths.cumsum()
    begins = counts - lengths
    drop_merges(symbols, counts, MERGES[1:4], rng=rng, rate=rate)
    found = [symbols[begin : begin + count].tolist() for begin, count in zip(begins, counts, strict=True)]
    return [merge_unknown(MERGES.ids[ids].tolist()) for ids in found]


@pytest.mark.parametrize("rate", [1e-300, 0.01, 0.1, 0.5, 0.99])
def test_words_are_segmented_as_in_python_with_the_same_random_numbers(rate: float) -> None:
    draw, python, native = random.Random(5), random.Random(7), random.Random(7)
    words = ["".join(draw.choices("abcxé😀z", k=draw.choice((1, 2, 5, 9, 80)))) for _ in range(2000)]
    expected = [list(DROPOUT(word, python, rate)) for word in words]
    assert segment(words[:1500], native, rate) + segment(words[1500:], native, rate) == expected
    assert native.getstate() == python.getstate()
    assert rate < 0.01 or len({tuple(ids) for ids in expected}) > 100


def test_nothing_is_drawn_for_no_words() -> None:
    rng = random.Random(1)
    assert segment([], rng, 0.5) == []
    assert rng.random() == random.Random(1).random()


def whole(**other: Any) -> tuple[Any, ...]:
    """Return arguments of the operation that fit, but for those given."""
    held = torch.tensor(random.Random(1).getstate()[1])
    merges = [torch.from_numpy(part) for part in MERGES[1:4]]
    names = ("symbols", "ends", "begins", "rights", "merged", "state", "rate")
    fits = dict(
        zip(names, (torch.tensor([4, 5], dtype=torch.int32), torch.tensor([2]), *merges, held, 0.5), strict=True)
    )
    return tuple((fits | other).values())


@pytest.mark.parametrize(
    "other",
    [
        {"symbols": torch.tensor([4, 5])},
        {"symbols": torch.tensor([4, 99], dtype=torch.int32)},
        {"symbols": torch.tensor([-2, 5], dtype=torch.int32)},
        {"ends": torch.tensor([2], dtype=torch.int32)},
        {"ends": torch.tensor([3])},
        {"ends": torch.tensor([2, 1, 2])},
        {"ends": torch.tensor([-1, 2])},
        {"ends": torch.tensor([], dtype=torch.int64)},
        {"begins": torch.tensor([0, 2])},
        {"begins": torch.tensor([], dtype=torch.int64)},
        {"rights": torch.tensor([1], dtype=torch.int32)},
        {"merged": torch.full_like(torch.from_numpy(MERGES.merged), 99)},
        {"state": torch.zeros(624, dtype=torch.int64)},
        {"state": torch.full((625,), 625)},
        {"rate": 0.0},
        {"rate": 1.0},
    ],
)
def test_what_does_not_fit_is_refused(other: dict[str, Any]) -> None:
    torch.ops.dragoman_segmentation.drop_merges.default(*whole())
    with pytest.raises(RuntimeError):
        torch.ops.dragoman_segmentation.drop_merges.default(*whole(**other))
