"""`dragoman recipes`."""

from pathlib import Path

import pytest
from tests.tiny import dragoman, refusal

from dragoman.runs.recipe import load_recipe, shipped, written


def test_recipes_are_listed_with_what_they_are_for():
    *found, blank, _, begin = dragoman("recipes").lines
    assert blank == "" and begin.startswith("    dragoman train own-files")
    names, abouts = found[::2], found[1::2]
    assert names == list(shipped())
    assert all(about.startswith("    ") and len(about) > 20 for about in abouts)


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_recipe_is_printed_whole(name, tmp_path: Path):
    found = dragoman("recipes", name)
    (tmp_path / "copy.yaml").write_text(found.output, encoding="utf-8")
    copy, given = load_recipe(tmp_path / "copy.yaml"), load_recipe(name)
    assert found.output == written(copy)
    assert (copy, copy.auto) == (given, given.auto)
    if "model.kind" in given.auto:  # which settings of one kind of model would decide
        assert copy.model.model_fields_set == given.model.model_fields_set


def test_an_unknown_recipe_is_refused_with_the_nearest_name():
    assert "did you mean `phrasebook-en-vi`?" in refusal("recipes", "phrasebook-en-vn")


def test_a_recipe_like_no_other_is_refused_with_the_command_that_lists_them():
    sentence = refusal("recipes", "nope")
    assert sentence.endswith("`dragoman recipes` lists them") and len(sentence) < 130
