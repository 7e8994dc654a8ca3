"""What checks have in common."""

import numpy as np
import pytest

from dragoman.data.corpus import Pair
from dragoman.doctor.check import Patient, Tally, line_of
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.examine import CHECKS


def test_the_line_of_a_place_is_found_even_in_a_file_with_a_line_break_in_its_name() -> None:
    assert line_of("a\nb.en, line 7") == 7


def test_the_line_of_a_place_is_found() -> None:
    assert line_of("a.en, line 12") == 12
    assert line_of("phrasebook train, sentence 3") == 3
    assert line_of("elsewhere") is None


def test_a_tally_counts_all_and_keeps_three() -> None:
    tally = Tally()
    for first in (0, 5):
        pairs = [Pair(f"s{number}", f"t{number}", f"a, line {number + 1}") for number in range(first, first + 5)]
        tally.add(Chunk(pairs, first), np.array([1, 3]), (1,))
    assert (tally.count, tally.first) == (4, 2)
    assert [(one.line, one.texts) for one in tally.examples] == [(2, ("t1",)), (4, ("t3",)), (7, ("t6",))]


def test_sides_of_one_file_are_told_apart() -> None:
    assert Patient("train", "a", ("a", "a"), ("en", "fr")).side(1) == " in its target"
    assert Patient("train", "a", ("a", "b"), ("en", "fr")).side(1) == ""
    assert Patient("train", "a", ("a", "a"), ("en", "en")).side(0) == ""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_says_what_it_finds_and_what_to_do(check: type) -> None:
    assert check.__doc__ and check.what and check.advice  # type: ignore[attr-defined]
    assert not check.what[0].isupper() and not check.what.endswith(".")  # type: ignore[attr-defined]
    assert len({one.name for one in CHECKS}) == len(CHECKS)
