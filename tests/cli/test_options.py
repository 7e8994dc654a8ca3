"""Options become settings of the decoding section."""

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

from dragoman.cli.main import COMMANDS, in_python
from dragoman.cli.options import MBR_SAMPLES, Languages, Search, decoding_options, number, spread
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


def test_samples_are_drawn_for_minimum_bayes_risk_unless_a_setting_says_how_many() -> None:
    assert decoding_options(None, beam=None, mbr=True) == {"mbr_samples": MBR_SAMPLES}
    assert decoding_options(["mbr_samples=null"], beam=None, mbr=True) == {"mbr_samples": MBR_SAMPLES}
    assert decoding_options(["mbr_samples=7"], beam=None, mbr=True) == {"mbr_samples": 7}
    with pytest.raises(SettingsError, match="--mbr chooses with samples, but `mbr_samples` is 0"):
        decoding_options(["mbr_samples=0"], beam=None, mbr=True)


def test_a_group_of_options_is_spread_out_and_put_together_again() -> None:
    given: list[object] = []

    def command(run: Path, languages: Languages, search: Search, number: int = 3) -> None:
        given.append((run, languages, search, number))

    spread_out = spread(command)
    assert list(signature(spread_out).parameters) == [
        "run", "source_language", "to", "beam", "mbr", "rerank", "glossary", "settings", "number",
    ]  # fmt: skip
    spread_out(
        run="a", source_language=None, to="fr", beam=4, mbr=True, rerank=None, glossary=None, settings=None, number=5
    )
    assert given == [("a", Languages(to="fr"), Search(beam=4, mbr=True), 5)]
    assert spread(test_a_setting_without_a_value_is_refused) is test_a_setting_without_a_value_is_refused


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "-1", "2", "one", ""])
def test_a_number_is_one_in_its_range(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a share"):
        number("a share", lambda one: 0 <= one <= 1)(text)
    assert number("a number")("-2.5") == -2.5


def test_every_option_that_is_a_number_is_read_so() -> None:
    commands = [getattr(import_module(f"dragoman.cli.{name}"), name) for name in map(in_python, COMMANDS)]
    functions = [
        function
        for one in commands
        for function in ([each.callback for each in one.registered_commands] if isinstance(one, typer.Typer) else [one])
    ]
    found = [
        hint.__metadata__[0].parser
        for function in functions
        for hint in get_type_hints(spread(function), include_extras=True).values()
        if hasattr(hint, "__metadata__") and float in (hint.__origin__, *get_args(hint.__origin__))
    ]
    assert len(found) >= 3 and None not in found
