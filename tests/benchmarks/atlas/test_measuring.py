"""What the atlas measures is what it says it measures."""

import doctest

import pytest
import torch
from benchmarks.atlas import measuring, pages
from benchmarks.atlas.corpora import Aligned

from dragoman.inference.attention_map import AttentionMap, HeadSelection, Side


@pytest.mark.parametrize("module", [measuring, pages], ids=["measuring", "pages"])
def test_the_examples_are_right(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted and not found.failed


def reading(*rows: list[float]) -> AttentionMap:
    """A reading of two words and a full stop on both sides, with </s> after them."""
    side = Side(["one", "two", ".", "</s>"], ["one", "two", "."], [0, 1, 2, None])
    return AttentionMap(side, side, torch.tensor(rows)[None, None])


PAIR = Aligned("one two .", "one two .", ["one", "two", "."], ["one", "two", "."], [(0, 0), (1, 1)])


def test_links_of_marks_do_not_count() -> None:
    straight = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [1.0, 0, 0, 0], [0, 0, 0, 1.0]]
    assert measuring.error_rate([reading(*straight)], [PAIR], HeadSelection(1, 1)) == 0.0
    crossed = [[0, 1.0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]
    assert measuring.error_rate([reading(*crossed)], [PAIR], HeadSelection(1, 1)) == 0.5


def test_a_shifted_view_takes_the_weights_of_the_next_step() -> None:
    late = [[0, 0, 0, 1.0], [1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]
    assert measuring.error_rate([reading(*late)], [PAIR], HeadSelection(1, 1, shift=True)) == 0.0
    assert measuring.error_rate([reading(*late)], [PAIR], HeadSelection(1, 1)) > 0
