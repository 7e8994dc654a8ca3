"""The proof that an export gives the same translations. That it is asked for is tested in `test_job`."""

import pytest

from dragoman.conversion.proof import Agreement, require
from dragoman.errors import InputError


def agreement(mean: float) -> Agreement:
    """Return what was found of a sample whose tokens differ so much in the mean."""
    return Agreement(sentences=9, equal_greedy=0.9, equal_beam=0.9, mean_difference=mean, largest_difference=1.0)


def test_int8_may_change_a_token_by_less_than_the_stated_difference() -> None:
    require(agreement(0.14), ["one sentence differs"], "int8")
    with pytest.raises(InputError, match=r"0\.16 .*--quantization float32"):
        require(agreement(0.16), [], "int8")


def test_float32_may_change_no_translation() -> None:
    require(agreement(0.0), [], "float32")
    with pytest.raises(InputError, match="`a` became `b`"):
        require(agreement(0.0), ["`a` became `b`"], "float32")


def test_the_table_holds_all_numbers() -> None:
    assert agreement(0.12345678951).table() == {
        "sentences": 9,
        "equal_greedy": 0.9,
        "equal_beam": 0.9,
        "mean_difference": 0.12345679,
        "largest_difference": 1.0,
    }
