"""A model that starts from a run goes on from what that run has learned."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.pretrained.folders import write_model
from tests.tiny import Trained, left_to_auto

from dragoman.errors import SettingsError
from dragoman.jobs.auto import CorpusSize, choose_text, settle, tokens_learned
from dragoman.jobs.checks import check_recipe
from dragoman.jobs.choices import SHORT_TRAINING, choose_model
from dragoman.jobs.suiting import IMPORTED_RATE, LEAST_DROPOUT
from dragoman.jobs.train import fit
from dragoman.jobs.workload import Workload
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import ORIGINAL, open_run
from dragoman.runs.integrity import TOKENS_BEFORE
from dragoman.runs.recipe import Recipe
from dragoman.runs.warm_start import codecs_for, text_given

CPU = torch.device("cpu")
GUIDED = "training.guided={layer: 1, links: learned, shift: false}"


@pytest.mark.parametrize(
    ("model", "given", "found"),
    [
        ((), (), ("muon", 0.002, 2.0, 0.01)),
        (("model.positions=none", "model.relative=rotary"), (), ("muon", 0.003, 3.0, 0.01)),
        (
            ("model.positions=none", "model.relative=rotary"),
            ("training.tokens_per_step=375",),
            ("muon", 0.0015, 3.0, 0.01),
        ),
        ((), ("training.optimizer=adamw",), ("adamw", 0.0005, 1.0, 0.01)),
        ((), ("training.optimizer=adam",), ("adam", 0.0005, 1.0, 0.0)),
        ((), ("training.learning_rate=0.1",), ("muon", 0.1, 2.0, 0.01)),
        ((), ("training.embedding_rate=5",), ("muon", 0.002, 5.0, 0.01)),
        ((), ("model.adapters={rank: 2}",), ("adamw", 0.0025, 1.0, 0.01)),
        ((), ("model.adapters={rank: 2}", "training.optimizer=muon"), ("muon", 0.002, 2.0, 0.01)),
    ],
)
@pytest.mark.parametrize("kind", ["auto", "transformer, relative: auto, positions: auto"])
def test_what_a_run_has_learned_is_continued_at_a_lower_rate(
    trained: Trained,
    kind: str,
    model: tuple[str, ...],
    given: tuple[str, ...],
    found: tuple[str, float, float, float],
) -> None:
    base = trained("transformer", *model, "training.optimizer=adam", "training.steps=1")
    assert rates(continued(base, *given, kind=kind)) == pytest.approx(found)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((), ("adamw", IMPORTED_RATE, 1.0, 0.01)),
        (("training.optimizer=adam",), ("adam", IMPORTED_RATE, 1.0, 0.0)),
        (("model.adapters={rank: 2}",), ("adamw", 5 * IMPORTED_RATE, 1.0, 0.01)),
        (("training.optimizer=muon",), ("muon", 0.002, 2.0, 0.01)),
        (("training.embedding_rate=5",), ("muon", 0.002, 5.0, 0.01)),
    ],
)
def test_an_imported_run_is_continued_as_it_is_adapted(
    tmp_path: Path, given: tuple[str, ...], found: tuple[str, float, float, float]
) -> None:
    import_model(str(write_model(tmp_path / "model", "marian")), tmp_path / "base", languages=("en", "vi"))
    auto = ("training.guided=auto", "decoding.length_penalty=auto")
    recipe = continued(tmp_path / "base", "text={kind: imported}", *auto, *given)
    assert rates(recipe) == pytest.approx(found)
    assert recipe.training.guided is None and recipe.decoding.length_penalty == 1.0


def test_what_a_run_has_learned_counts_for_search_and_no_links_are_taught_if_they_were_not(trained: Trained) -> None:
    auto = ("training.guided=auto", "decoding.length_penalty=auto")
    for given in ((), (GUIDED,)):
        found = continued(trained("transformer", *given, "training.steps=1"), *auto)
        assert (found.training.guided is None) == (not given) and found.decoding.length_penalty == 1.2
    work = Workload(100, 2500, 1e6, before=SHORT_TRAINING)
    assert chosen_by(left_to_auto(), work)["decoding.length_penalty"] == 1.0
    assert chosen_by(left_to_auto(), replace(work, before=1e6))["decoding.length_penalty"] == 1.2


def test_what_the_runs_before_a_run_have_learned_counts_too(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer", "training.steps=1")
    fit(continued(base, "training.steps=2"), tmp_path / "run")
    first, second = open_run(base), open_run(tmp_path / "run")
    tokens = [run.manifest["cost"]["tokens"] for run in (first, second)]
    assert tokens_learned(first) == tokens[0] > 0 < tokens[1] and tokens_learned(second) == sum(tokens)
    assert math.isinf(tokens_learned(replace(second, manifest={**second.manifest, ORIGINAL: {}})))
    assert math.isinf(tokens_learned(replace(second, manifest={**second.manifest, TOKENS_BEFORE: None})))
    older = {name: value for name, value in second.manifest.items() if name != TOKENS_BEFORE}
    assert math.isinf(tokens_learned(replace(second, manifest=older))), "a run from before this was counted"
    assert second.inherited("cost")[TOKENS_BEFORE] == tokens[0]


@pytest.mark.parametrize("kind", ["transformer", "rnn"])
def test_dropout_follows_the_passes_of_the_new_training_unless_it_is_given(trained: Trained, kind: str) -> None:
    base = trained(kind, "model.dropout=0.15", "training.steps=1")
    assert continued(base, "training.steps=1").model.dropout == 0.0
    assert continued(base, "training.steps=100000").model.dropout == 0.3
    assert continued(base, "model.dropout=0.25").model.dropout == 0.25


def test_dropout_is_that_of_the_run_where_it_applies_in_few_places(trained: Trained) -> None:
    base = trained("rnn", "model.outer_dropout=0.1", "model.dropout=0.2", "training.steps=1")
    assert continued(base, "training.steps=100000").model.dropout == 0.2


def test_r_drop_has_two_passes_that_differ_however_few_passes_over_the_corpus_are_made(trained: Trained) -> None:
    r_drop = ("training.consistency={kind: r_drop}", "training.steps=1")
    assert continued(trained("transformer", "training.steps=1"), *r_drop).model.dropout == LEAST_DROPOUT


def test_a_size_that_is_given_is_not_replaced_by_that_of_the_run(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer", "training.steps=1")
    found = continued(base, "model.width=48")
    assert found.model.width == 48
    with pytest.raises(SettingsError, match=r"`model.width` is 48, but .* was trained with 16"):
        fit(found, tmp_path / "run")


def test_matrices_are_untied_as_in_the_run(trained: Trained) -> None:
    text = "text={kind: words, joint: false}"
    base = trained("transformer", text, "model.tied=target", "training.steps=1")
    for kind in ("auto", "transformer, width: auto"):
        assert continued(base, text, kind=kind).model.tied == "target"
    assert continued(base, text, kind="transformer, tied: none, width: auto").model.tied == "none", (
        "that is refused later"
    )


def test_dropout_follows_the_passes_with_several_layers_whose_outer_dropout_is_its_own(trained: Trained) -> None:
    base = trained("rnn", "model.outer_dropout=0.1", "model.layers=2", "model.dropout=0.2", "training.steps=1")
    assert continued(base, "training.steps=1").model.dropout == 0.0


def test_a_model_of_documents_goes_on_from_one_of_sentences(trained: Trained) -> None:
    base = trained("transformer", "training.steps=1")
    found = continued(base, kind="document, width: auto, heads: auto")
    assert (found.model.kind, found.model.width, found.training.learning_rate) == ("document", 16, 0.002)


def continued(base: Path, *assignments: str, kind: str = "auto") -> Recipe:
    """Return the recipe that is chosen for a model that starts from a run."""
    given = ("training.embedding_rate=auto", "training.weight_decay=auto", *assignments)
    recipe = left_to_auto(f"model={{kind: {kind}, start_from: {{whole: {base}}}}}", *given)
    found = settle(recipe, lambda one: codecs_for(one, list), device=CPU, say=lambda _: None).recipe
    check_recipe(found)
    return found


def rates(recipe: Recipe) -> tuple[str, float, float, float]:
    """Return the optimiser of a recipe, its rates and its weight decay."""
    training = recipe.training
    return training.optimizer, training.learning_rate, training.embedding_rate, training.weight_decay


def chosen_by(recipe: Recipe, work: Workload) -> dict[str, Any]:
    """Return what is chosen for an amount of work, by path."""
    return {one.path: one.value for one in choose_model(recipe, work)}


@pytest.mark.parametrize("kind", ["transformer", "rnn"])
def test_a_model_that_starts_from_a_run_has_its_sizes(trained: Trained, tmp_path: Path, kind: str) -> None:
    base = open_run(trained(kind))
    given = [f"model={{kind: auto, start_from: {{whole: {base.folder}}}}}", "text.size=auto"]
    fit(left_to_auto(*given, "training.minutes=1", "training.precision=float32"), tmp_path / "run")
    found = open_run(tmp_path / "run").recipe
    assert found.text.size == base.recipe.text.size
    own, other = found.model.model_dump(), base.recipe.model.model_dump()
    assert own["kind"] == kind and {name for name in own if own[name] != other[name]} <= {"start_from", "dropout"}


@pytest.mark.parametrize("kind", ["auto", "transformer"])
def test_the_training_of_a_model_that_starts_from_a_run_follows_from_its_sizes(trained: Trained, kind: str) -> None:
    base = trained("transformer", "model.decoder_layers=1", "model.width=400", GUIDED, "training.steps=1")
    sizes = (
        ""
        if kind == "auto"
        else "encoder_layers: auto, decoder_layers: auto, width: auto, feed_forward: auto, heads: auto, "
    )
    given = left_to_auto(f"model={{kind: {kind}, {sizes}start_from: {{whole: {base}}}}}", "training.guided=auto")
    found = settle(given, lambda recipe: codecs_for(recipe, list), device=CPU, say=lambda _: None).recipe
    assert found.training.guided is not None and found.training.guided.layer == 1
    assert found.training.learning_rate == pytest.approx(0.006 * 0.8 / 3)


def test_a_lexicon_does_not_replace_the_embeddings_of_the_run_that_a_model_starts_from(trained: Trained) -> None:
    base = trained("rnn", "model.tied=true", "model.lexical=true", GUIDED, "training.steps=1")
    given = left_to_auto(f"model={{kind: auto, start_from: {{whole: {base}}}}}", "training.guided=auto")
    found = settle(given, lambda recipe: codecs_for(recipe, list), device=CPU, say=lambda _: None).recipe
    check_recipe(found)
    assert found.model.kind == "rnn" and found.training.guided is not None and not found.training.guided.lexicon


def test_a_vocabulary_that_a_run_gives_has_the_size_of_that_run(trained: Trained) -> None:
    masked = trained("masked_lm")
    model = f"model={{kind: transformer, width: 16, start_from: {{encoder: {masked}}}}}"

    def learn(recipe: Recipe) -> Any:
        return codecs_for(recipe, lambda: [("a b", "c d")] * 9)

    found = settle(left_to_auto(model), learn, device=CPU, say=lambda _: None)
    assert found.recipe.text.size == open_run(masked).recipe.text.size
    (casing,) = choose_text(left_to_auto(model, "text.inline_casing=auto"), CorpusSize(9, 90, mixed_casing=True))[1:]
    assert casing.value is False
    assert text_given(left_to_auto(model, "text.joint=false")) is None  # the target's is learned
