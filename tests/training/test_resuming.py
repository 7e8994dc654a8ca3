"""What may change when a run is resumed, and what is said where something else did."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import ROOT, recipe

from dragoman.errors import RunError, SettingsError
from dragoman.training.budgets import BUDGETS
from dragoman.training.resuming import MAY_CHANGE, SECTIONS_THAT_MAY_CHANGE, check_same_files, check_same_recipe
from dragoman.training.settings import TrainingSettings

FOLDER = Path("runs/mine")


def table(*assignments: str) -> dict[str, Any]:
    """Return a recipe as a table."""
    return recipe("rnn", "data.train=[{source: a.en, target: a.vi}]", *assignments).model_dump(mode="json")


def test_every_setting_that_may_change_is_one() -> None:
    assert set(TrainingSettings.model_fields) >= MAY_CHANGE >= set(BUDGETS)


def test_the_documentation_lists_what_may_change_and_no_more() -> None:
    text = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"In the section\s+`training` you may change (.*?); the sections (.*?) too", text, re.DOTALL)
    names = [set(re.findall(r"`(\w+)`", part)) for part in listed]
    assert names == [set(MAY_CHANGE), set(SECTIONS_THAT_MAY_CHANGE)]


@pytest.mark.parametrize("path", ["docs/recipes.md", "docs/glossary.md"])
def test_the_documentation_lists_every_budget(path: str) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    assert any(all(f"`{budget}`" in line for budget in BUDGETS) for line in lines if "budget" in line)


@pytest.mark.parametrize(
    "assignment",
    [
        *(f"training.{name}=7" for name in sorted(MAY_CHANGE - {"compile", "padding", "average", "shard"})),
        "training.average=2",
        "training.shard=true",
        "training.compile=model",
        "training.padding=packed",
        "decoding.beam=7",
        "about=another",
        "data.root=moved",
        "data.check=false",
        "data.train=[{source: b.en, target: b.vi}]",
    ],
)
def test_this_may_change(assignment: str) -> None:
    check_same_recipe(FOLDER, table(), table(assignment))


@pytest.mark.parametrize(
    ("assignment", "place"),
    [
        ("seed=2", "seed"),
        ("data.target=fr", "data.target"),
        ("data.train=[{tsv: a.tsv}]", "data.train"),
        ("data.train=[{source: a.en, target: a.vi, links: a.links}]", "data.train"),
        ("data.train=[{source: a.en, target: a.vi, repeat: 2}]", "data.train"),
        ("data.filters.max_words=9", "data.filters.max_words"),
        ("training.warmup=9", "training.warmup"),
        ("model.hidden=64", "model.hidden"),
    ],
)
def test_nothing_else_may_change(assignment: str, place: str) -> None:
    with pytest.raises(SettingsError, match=rf"`{place}` differs; .*learning_rate.* may change") as caught:
        check_same_recipe(FOLDER, table(), table(assignment))
    assert all(name in str(caught.value) for name in MAY_CHANGE)


def compared(before: dict[str, str], then: str, now: dict[str, str], places: str) -> None:
    """Compare files with those of a run, whose recipe had the files `then` at the places that now have others."""
    check_same_files(FOLDER, before, now, moved=list(zip(then.split(), places.split(), strict=True)))


def test_files_are_the_same_by_their_content() -> None:
    before = {"a/train.en": "1", "a/train.vi": "2"}
    compared(before, "a/train.en a/train.vi", before, "a/train.en a/train.vi")
    compared(before, "a/train.en a/train.vi", {"b/train.en": "1", "b/train.vi": "2"}, "b/train.en b/train.vi")
    for now in ({"a/train.en": "1", "a/train.vi": "3"}, {"b/train.en": "2", "b/train.vi": "1"}):
        another = r", when it was a/train\.\w+, or is another text" if "b/train.en" in now else ""
        with pytest.raises(RunError, match=rf"has changed since runs/mine was started{another}; .*--out"):
            compared(before, "a/train.en a/train.vi", now, " ".join(now))


def test_a_file_of_two_corpora_may_become_two_and_each_is_compared() -> None:
    compared({"a": "1", "b": "2"}, "a b a", {"x": "1", "y": "2", "z": "1"}, "x y z")
    compared({"x": "1", "y": "2", "z": "1"}, "x y z", {"a": "1", "b": "2"}, "a b a")
    for now, places in (({"x": "1", "y": "2", "z": "2"}, "x y z"), ({"a": "1", "b": "2"}, "a b b")):
        with pytest.raises(RunError, match="has changed"):
            compared({"a": "1", "b": "2"}, "a b a", now, places)


def test_files_that_an_earlier_release_did_not_name_anew_are_compared_in_their_order() -> None:
    compared({"a": "1", "b": "2"}, "x y", {"v": "1", "w": "2"}, "v w")
    with pytest.raises(RunError, match="w has changed"):
        compared({"a": "1", "b": "2"}, "x y", {"v": "1", "w": "3"}, "v w")
    compared({}, "x y", {"v": "1", "w": "3"}, "v w")  # nothing is known
