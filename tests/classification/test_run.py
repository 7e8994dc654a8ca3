"""The run folder of a classifier."""

import json
from pathlib import Path
from shutil import copytree

import pytest
import torch
import yaml
from tests.classification.documents import small_recipe
from tests.tiny import Trained

from dragoman.classification.fitting import fit_classifier
from dragoman.classification.run import open_classifier_run
from dragoman.errors import RunError
from dragoman.runs.folder import read_manifest
from dragoman.settings import read_yaml

CPU = torch.device("cpu")


@pytest.fixture
def run(classifier_run: Path, tmp_path: Path) -> Path:
    """A run of one's own."""
    return Path(copytree(classifier_run, tmp_path / "run"))


def test_an_opened_run_has_its_labels_and_its_best_weights(classifier_run: Path) -> None:
    run = open_classifier_run(classifier_run)
    assert sorted(run.labels) == sorted(run.manifest["labels"]) and len(run.labels) > 1
    model, fresh = run.load_model(CPU), run.fresh_model()
    assert not model.training and model.head.weight.shape[0] == len(run.labels)
    assert not torch.equal(model.head.weight, fresh.head.weight)
    assert torch.equal(fresh.head.weight, run.fresh_model().head.weight)


def test_loading_leaves_the_random_numbers_of_the_caller_alone(classifier_run: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    open_classifier_run(classifier_run).load_model(CPU)
    assert torch.equal(torch.rand(2), expected)


def test_a_translator_is_no_classifier(trained: Trained) -> None:
    with pytest.raises(RunError, match="is not a document classifier; train one with `dragoman classify train`"):
        open_classifier_run(trained("rnn"))


def test_a_run_that_is_not_there_is_trained_with_the_command_of_classifiers(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"no run folder {tmp_path / 'none'}; train one with `dragoman classify train`"):
        open_classifier_run(tmp_path / "none")


@pytest.mark.parametrize("labels", [None, "yes", [1, 2]])
def test_labels_that_are_none_are_damage(run: Path, labels: object) -> None:
    path = run / "manifest.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**table, "labels": labels}), encoding="utf-8")
    with pytest.raises(RunError, match=r"manifest\.json"):
        open_classifier_run(run)


def test_a_run_without_weights_says_when_there_will_be_some(run: Path) -> None:
    (run / "model.safetensors").unlink()
    with pytest.raises(RunError, match=r"no model\.safetensors yet.*--resume"):
        open_classifier_run(run).load_model(CPU)


def test_a_run_whose_recipe_still_has_settings_of_translators_is_opened_and_resumed(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, "training.steps=2", "training.phases=[{after: 0.5, learning_rate: 0.001}]")
    fit_classifier(recipe, tmp_path / "run")
    path = tmp_path / "run" / "recipe.yaml"
    table = read_yaml(path)
    old = {"reward": {"alpha": 0.5}, "recurrence": "native", "guided": None, "compile": "none", "padding": "masked"}
    table["training"] |= old | {"keep": 0, "average": 0}
    table["training"]["phases"][0]["reward"] = None
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    assert open_classifier_run(tmp_path / "run").recipe == recipe
    longer = small_recipe(tmp_path, "training.steps=3", "training.phases=[{after: 0.5, learning_rate: 0.001}]")
    assert fit_classifier(longer, tmp_path / "run", resume=True).step == 3
    assert read_manifest(tmp_path / "run")["resumed"][-1]["training"]["steps"] == [2, 3]
