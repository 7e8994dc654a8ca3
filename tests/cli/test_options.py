"""Options become settings of the decoding section."""

from inspect import signature
from pathlib import Path

import pytest

from dragoman.cli.options import Languages, Search, decoding_options, spread
from dragoman.errors import SettingsError


def test_what_is_not_given_stays_as_the_recipe_has_it() -> None:
    assert decoding_options(None, beam=None) == {}
    assert decoding_options(None, beam=None, n_best=1) == {}


def test_a_beam_is_searched_with_whatever_the_recipe_says() -> None:
    assert decoding_options([], beam=4) == {"beam": 4, "method": "beam"}
    assert decoding_options(["method=sample"], beam=4) == {"beam": 4, "method": "sample"}


def test_options_go_before_settings() -> None:
    found = decoding_options(["beam=9", "n_best=2", "length_penalty=0.6"], beam=4, n_best=3)
    assert found == {"beam": 4, "method": "beam", "n_best": 3, "length_penalty": 0.6}


def test_a_setting_without_a_value_is_refused() -> None:
    with pytest.raises(SettingsError, match="beam"):
        decoding_options(["beam"], beam=None)


def test_a_group_of_options_is_spread_out_and_put_together_again() -> None:
    given: list[object] = []

    def command(run: Path, languages: Languages, search: Search, number: int = 3) -> None:
        given.append((run, languages, search, number))

    spread_out = spread(command)
    assert list(signature(spread_out).parameters) == [
        "run", "source_language", "to", "beam", "mbr", "rerank", "settings", "number",
    ]  # fmt: skip
    spread_out(run="a", source_language=None, to="fr", beam=4, mbr=True, rerank=None, settings=None, number=5)
    assert given == [("a", Languages(to="fr"), Search(beam=4, mbr=True), 5)]
    assert spread(test_a_setting_without_a_value_is_refused) is test_a_setting_without_a_value_is_refused
