"""What a call may change, and how large an answer is."""

import pytest

from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError
from dragoman.serving.interface import Options, Sentence, Token
from dragoman.serving.jobs import Found, Wanted, changes_of, with_room


@pytest.mark.parametrize(
    "name", ["rerank", "dictionary", "maximum_length", "maximum_ratio", "mbr_samples", "precision", "nonsense"]
)
def test_what_names_files_or_costs_much_cannot_be_changed(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        changes_of(Options(decoding=((name, 1),)))
    assert name in str(caught.value) and "length_penalty" in str(caught.value)


def test_a_minimum_length_has_a_maximum() -> None:
    assert changes_of(Options(decoding=(("minimum_length", 5),))) == {"minimum_length": 5}
    with pytest.raises(SettingsError):
        changes_of(Options(decoding=(("minimum_length", 10_000),)))


def test_options_become_settings() -> None:
    assert changes_of(Options(beam=3, n_best=2, decoding=(("length_penalty", 0.5),))) == {
        "beam": 3,
        "n_best": 2,
        "length_penalty": 0.5,
    }
    assert with_room(DecodingSettings(beam=5), Options(n_best=2)).beam == 5
    assert with_room(DecodingSettings(method="greedy"), Options(n_best=2)) == DecodingSettings(beam=2)
    assert with_room(DecodingSettings(method="greedy"), Options()).method == "greedy"
    assert Wanted.by(Options(attention=True)) == Wanted(attention=True)


def test_a_larger_answer_takes_more_memory() -> None:
    small = Found(Sentence("a", "b"))
    large = Found(Sentence("a" * 100, "b" * 100, tokens=(Token("b"),) * 50), (Sentence("a", "c"),))
    assert large.size > small.size + 8000
