"""The proof that an export gives the same translations. That it is asked for is tested in `test_job`."""

from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.conversion import proof
from dragoman.conversion.proof import Agreement, compare, require
from dragoman.data.corpus import Pair
from dragoman.decoding.settings import DecodingSettings
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


class Engine:
    """An engine whose translations have the same score in each kind of search."""

    engine = None

    def __init__(self, greedy: float, beam: float) -> None:
        self.scores = {"greedy": greedy, "beam": beam}

    def translate(self, sources: list[str], *, settings: DecodingSettings, to: Any) -> list[Any]:
        """Return what it found, without a search."""
        score = self.scores[settings.method]
        return [SimpleNamespace(text=f"{score}", log_prob=score, score=score, alternatives=()) for _ in sources]


@pytest.mark.parametrize(
    ("other", "token", "told"),
    [
        (Engine(-1, -3), 0.0, r"`-2` of -2\.0000 became `-3` of -3\.0000; .*learned little.*train the run longer"),
        (Engine(-4, -3), 0.0, r"`-1` of -1\.0000 became `-4` of -4\.0000; this is a bug"),
        (Engine(-1, -3), 0.5, r"the log-probability of a token differs by 0\.5; this is a bug"),
    ],
)
def test_a_beam_that_alone_differs_is_blamed_on_little_training_and_all_else_on_a_bug(
    other: Any, token: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "token_differences", lambda *_: [token])
    own: Any = Engine(-1, -2)
    found, beyond = compare(own, other, [Pair("a", "b", "")])
    with pytest.raises(InputError, match=told):
        require(found, beyond, "float32")


def test_the_table_holds_all_numbers() -> None:
    assert agreement(0.12345678951).table() == {
        "sentences": 9,
        "equal_greedy": 0.9,
        "equal_beam": 0.9,
        "mean_difference": 0.12345679,
        "largest_difference": 1.0,
    }
