"""A classifier's recipe needs a file to train on and nothing else."""

from pathlib import Path

import pytest

from dragoman.classification.settings import ClassifierRecipe, classifier_recipe
from dragoman.errors import SettingsError
from dragoman.settings import dump, parse


def test_a_file_is_enough_and_one_setting_leaves_the_others_as_they_are():
    plain = classifier_recipe(Path("a.tsv"))
    changed = classifier_recipe(Path("a.tsv"), None, ["training.epochs=3", "text.lower=true"])
    assert (plain.data.train, plain.data.dev, plain.training.metric) == (Path("a.tsv"), None, "loss")
    assert (changed.training.epochs, changed.text.lower) == (3, True)
    assert changed.training.model_copy(update={"epochs": plain.training.epochs}) == plain.training


def test_the_kind_of_text_can_be_changed():
    assert classifier_recipe(Path("a.tsv"), None, ["text.kind=characters"]).text.minimum_count == 1  # type: ignore[union-attr]


def test_yaml_reads_back_to_the_same_recipe():
    recipe = classifier_recipe(Path("a.tsv"), Path("b.tsv"), ["model.score=cosine"])
    import yaml

    assert parse(ClassifierRecipe, yaml.safe_load(dump(recipe))) == recipe


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("model.hiden=3", "section `model`, has no setting `hiden`; did you mean `hidden`?"),
        ("model.score=location", "`model.score` cannot be `location`; known: additive, dot"),
        ("training.metric=bleu", "`training.metric`"),
        ("training.keep=3", "`training.keep`"),
        ("text={kind: sentencepiece, sampling: 0.1}", "`text.sampling` is for translators"),
        ("training.epochs=null", "`training` needs a budget"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(setting, sentence):
    with pytest.raises(SettingsError) as refused:
        classifier_recipe(Path("a.tsv"), None, [setting])
    assert sentence in str(refused.value)
