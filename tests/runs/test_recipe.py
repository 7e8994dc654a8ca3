"""Recipes: read by path or name, laid over one another, changed by `a.b=value`."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.tiny import recipe_file, table

from dragoman.errors import InputError, SettingsError
from dragoman.models.build import purpose_of
from dragoman.runs.recipe import find_recipe, load_recipe, shipped


def test_a_recipe_is_read_from_its_path(tmp_path: Path):
    assert load_recipe(recipe_file(tmp_path, "rnn")).model.hidden == 32


def test_assignments_are_laid_over_it(tmp_path: Path):
    path = recipe_file(tmp_path, "rnn")
    assert load_recipe(path, ["model.hidden=48", "data.dev.0.pairs=7"]).data.dev[0].pairs == 7
    with pytest.raises(InputError, match=r"'model.hidden=48' is one text .* write \['model.hidden=48'\]"):
        load_recipe(path, "model.hidden=48")


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_recipe_is_complete_and_says_what_it_is_for(name):
    found = load_recipe(name)
    assert len(found.about) > 20
    (source, target), *_ = found.data.directions.trained
    assert (source != target) == (purpose_of(found.model) == "translate")


def test_a_shipped_recipe_is_found_by_its_name_and_by_its_path():
    name, path = next(iter(shipped().items()))
    assert find_recipe(name) == path
    assert load_recipe(path) == load_recipe(name)


def test_a_file_goes_before_a_shipped_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = next(iter(shipped()))
    (tmp_path / name).write_text(yaml.safe_dump(table("rnn")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_recipe(name).model.hidden == 32


def test_a_recipe_extends_one_beside_it(tmp_path: Path):
    recipe_file(tmp_path, "rnn")
    (tmp_path / "wide.yaml").write_text("extends: tiny.yaml\nmodel: {hidden: 64}\n", encoding="utf-8")
    (tmp_path / "wider.yaml").write_text("extends: wide.yaml\nseed: 3\n", encoding="utf-8")
    found = load_recipe(tmp_path / "wider.yaml")
    assert (found.model.hidden, found.model.embedding, found.seed) == (64, 16, 3)


@pytest.mark.parametrize(
    ("extends", "sentence"),
    [
        ("[tiny.yaml]", "`extends` is ['tiny.yaml'], but it must be the name or the path of a recipe"),
        ("7", "`extends` is 7, but it must be"),
        ("y" * 5000, "y..., but it must be"),
        ("y" * 300, "there is no recipe `yyyy"),
    ],
)
def test_a_recipe_extends_nothing_but_a_recipe(tmp_path: Path, extends: str, sentence: str):
    (tmp_path / "mine.yaml").write_text(f"extends: {extends}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        load_recipe(tmp_path / "mine.yaml")


@pytest.mark.parametrize("kind", [[1], {"a": 1}, 7, None])
def test_the_kind_of_a_model_is_a_word(tmp_path: Path, kind: object):
    (tmp_path / "mine.yaml").write_text(f"model: {{kind: {json.dumps(kind)}}}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"model"):
        load_recipe(tmp_path / "mine.yaml")


def test_a_recipe_extends_a_shipped_one(tmp_path: Path):
    (tmp_path / "mine.yaml").write_text("extends: phrasebook-en-vi\ntraining: {steps: 7}\n", encoding="utf-8")
    found = load_recipe(tmp_path / "mine.yaml")
    assert found == load_recipe("phrasebook-en-vi", ["training.steps=7"])


@pytest.mark.parametrize("kind", ["transformer", "rnn"])
def test_a_kind_in_a_file_leaves_to_auto_what_it_does_on_the_command_line(tmp_path: Path, kind: str):
    (tmp_path / "mine.yaml").write_text(f"extends: own-files\nmodel: {{kind: {kind}}}\n", encoding="utf-8")
    recipe, other = load_recipe(tmp_path / "mine.yaml"), load_recipe("own-files", [f"model.kind={kind}"])
    assert recipe == other and recipe.auto == other.auto
    assert "model.dropout" in recipe.auto and "model.kind" not in recipe.auto


def test_a_section_set_to_auto_can_be_changed_in_part():
    whole = load_recipe("phrasebook-en-vi", ["training=auto", "training.steps=7"])
    assert {"training.optimizer", "training.learning_rate"} <= set(whole.auto) and whole.training.steps == 7
    assert "model.kind" in load_recipe("phrasebook-en-vi", ["model=auto", "model.width=32"]).auto
    assert "decoding.length_penalty" in load_recipe("phrasebook-en-vi", ["decoding=auto", "decoding.beam=3"]).auto


@pytest.mark.parametrize(
    ("model", "metric"), [("transformer", "bleu"), ("decoder_only", "loss"), ("masked_lm", "loss")]
)
def test_the_metric_is_one_that_the_model_has(tmp_path: Path, model: str, metric: str):
    (tmp_path / "mine.yaml").write_text(f"extends: own-files\nmodel: {{kind: {model}}}\n", encoding="utf-8")
    assert load_recipe(tmp_path / "mine.yaml").training.metric == metric
    for chosen in ("bleu", "loss"):
        assert load_recipe(tmp_path / "mine.yaml", [f"training.metric={chosen}"]).training.metric == chosen


def test_a_circle_of_recipes_is_refused(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"a\.yaml extends itself, through .*b\.yaml"):
        load_recipe(tmp_path / "a.yaml")


def test_a_base_that_is_not_there_is_named(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("extends: phrasebook-en-vn\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"no recipe `phrasebook-en-vn`.*did you mean `phrasebook-en-vi`"):
        load_recipe(tmp_path / "a.yaml")


def test_a_path_that_is_not_there_is_no_name():
    with pytest.raises(SettingsError, match=r"there is no file none/mine\.yaml"):
        load_recipe("none/mine.yaml")


def test_mistakes_are_placed_in_the_file(tmp_path: Path):
    path = recipe_file(tmp_path, "rnn")
    with pytest.raises(SettingsError, match=r"tiny\.yaml, section `model`, has no setting `hiden`"):
        load_recipe(path, ["model.hiden=3"])


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize("corpus", ["null", "7", "train.en"])
def test_a_corpus_that_is_no_table_is_placed_in_the_words_of_recipes(tmp_path: Path, part: str, corpus: str):
    with pytest.raises(SettingsError) as found:
        load_recipe(recipe_file(tmp_path, "rnn"), [f"data.{part}=[{corpus}]"])
    assert f"`data.{part}.0` is" in str(found.value) and str(found.value).endswith("it must be a table of settings")
