"""A classifier's recipe needs a file to train on and nothing else."""

from pathlib import Path

import pytest

from dragoman.classification.settings import ClassifierRecipe, classifier_recipe
from dragoman.errors import SettingsError
from dragoman.jobs.checks import check_recipe
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
        ("training.keep=3", "section `training`, has no setting `keep`"),
        ("training.reward={alpha: 0.5}", "section `training`, has no setting `reward`"),
        ("training.recurrence=native", "section `training`, has no setting `recurrence`"),
        (
            "training.phases=[{after: 0.5, reward: {samples: 2}}]",
            "section `training.phases.0`, has no setting `reward`",
        ),
        ("training.epochs=null", "`training` needs a budget"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(setting, sentence):
    with pytest.raises(SettingsError) as refused:
        classifier_recipe(Path("a.tsv"), None, [setting])
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("text={kind: sentencepiece, sampling: 0.1}", "`text.sampling: 0.1`"),
        ("text={kind: sentencepiece, sampling_target: 0.1}", "`text.sampling_target: 0.1`"),
        ("text={kind: words, joint: true}", "`text.joint: true`"),
        ("text={kind: words, unknown: positional}", "`text.unknown: positional`"),
        ("training.momentum=0.9", "`training.momentum: 0.9`"),
        ("training.phases=[{after: 0.5, momentum: 0.9}]", "`training.phases.0.momentum: 0.9`"),
    ],
)
def test_what_a_classifier_would_not_read_is_refused_before_it_is_trained(setting: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_recipe(classifier_recipe(Path("a.tsv"), None, [setting]))
    assert sentence in str(refused.value)
