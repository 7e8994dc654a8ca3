"""A model that starts from a run goes on from what that run has learned."""

from pathlib import Path

import pytest
import torch
from tests.pretrained.folders import write_model
from tests.tiny import Trained, left_to_auto

from dragoman.jobs.auto import settle
from dragoman.jobs.checks import check_recipe
from dragoman.jobs.choices import IMPORTED_RATE
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe
from dragoman.runs.warm_start import codecs_for

CPU = torch.device("cpu")
GUIDED = "training.guided={layer: 1, links: learned, shift: false}"


@pytest.mark.parametrize(
    ("of_base", "given", "found"),
    [
        (("optimizer=muon", "learning_rate=0.006", "embedding_rate=2.0"), (), ("muon", 0.002, 2.0, 0.0)),
        (("optimizer=adam", "learning_rate=0.003", "weight_decay=0"), (), ("adam", 0.001, 1.0, 0.0)),
        (("learning_rate=0.003", "weight_decay=0.02"), (), ("adamw", 0.001, 1.0, 0.02)),
        (("optimizer=muon", "learning_rate=0.006"), ("training.optimizer=adamw",), ("adamw", 0.0005, 1.0, 0.01)),
        (("optimizer=nesterov", "momentum=0.9"), (), ("muon", 0.002, 2.0, 0.01)),
        (("optimizer=muon",), ("training.learning_rate=0.1",), ("muon", 0.1, 1.0, 0.0)),
        ((), ("model.adapters={rank: 2}",), ("muon", 0.006, 2.0, 0.01)),
    ],
)
def test_what_a_run_has_learned_is_continued_at_a_lower_rate(
    trained: Trained, of_base: tuple[str, ...], given: tuple[str, ...], found: tuple[str, float, float, float]
) -> None:
    base = trained("transformer", *(f"training.{one}" for one in of_base), "training.steps=1")
    assert rates(continued(base, *given)) == pytest.approx(found)


def test_an_imported_run_is_continued_as_it_is_adapted(tmp_path: Path) -> None:
    import_model(str(write_model(tmp_path / "model", "marian")), tmp_path / "base", languages=("en", "vi"))
    found = continued(tmp_path / "base", "text={kind: imported}")
    assert rates(found) == pytest.approx(("adamw", IMPORTED_RATE, 1.0, 0.01))


def test_a_run_is_continued_with_its_search_and_is_taught_no_links_if_it_was_not(trained: Trained) -> None:
    auto = ("training.guided=auto", "decoding.no_repeat_ngram=auto", "decoding.length_penalty=auto")
    for given in ((), (GUIDED, "decoding.length_penalty=0.9", "decoding.no_repeat_ngram=3")):
        found = continued(base := trained("transformer", *given, "training.steps=1"), *auto)
        assert (found.training.guided is None) == (not given)
        before = open_run(base).recipe.decoding
        assert found.decoding.length_penalty == before.length_penalty == (0.9 if given else 1.0)
        assert found.decoding.no_repeat_ngram == before.no_repeat_ngram == (3 if given else 0)


@pytest.mark.parametrize("kind", ["transformer", "rnn"])
def test_dropout_follows_the_passes_of_the_new_training_unless_it_is_given(trained: Trained, kind: str) -> None:
    base = trained(kind, "model.dropout=0.0", "training.steps=1")
    assert continued(base, "training.steps=1").model.dropout == 0.0
    assert continued(base, "training.steps=100000").model.dropout == 0.3
    assert continued(base, "model.dropout=0.25").model.dropout == 0.25


def test_a_size_that_is_given_is_not_replaced_by_that_of_the_run(trained: Trained) -> None:
    base = trained("transformer", "training.steps=1")
    assert continued(base, "model.width=48").model.width == 48, "which is refused when the weights are copied"


def continued(base: Path, *assignments: str) -> Recipe:
    """Return the recipe that is chosen for a model that starts from a run."""
    given = ("training.embedding_rate=auto", "training.weight_decay=auto", *assignments)
    recipe = left_to_auto(f"model={{kind: auto, start_from: {{whole: {base}}}}}", *given)
    found = settle(recipe, lambda one: codecs_for(one, list), device=CPU, say=lambda _: None).recipe
    check_recipe(found)
    return found


def rates(recipe: Recipe) -> tuple[str, float, float, float]:
    """Return the optimiser of a recipe, its rates and its weight decay."""
    training = recipe.training
    return training.optimizer, training.learning_rate, training.embedding_rate, training.weight_decay
