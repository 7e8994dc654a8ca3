"""Which batches may be computed in parts."""

from typing import Any

import pytest
from tests.tiny import recipe

from dragoman import plugins
from dragoman.jobs.parts import replicable, splittable
from dragoman.models.build import plugged


@pytest.mark.parametrize("model", ["rnn", "transformer", "masked_lm", "decoder_only"])
def test_what_adds_up_over_sentences_can_be_split(model: str) -> None:
    assert splittable(recipe(model))
    assert replicable(recipe(model)) == (model == "transformer")
    assert not plugged(recipe(model).model)


@pytest.mark.parametrize("kind", ["self_score", "relative", "positions"])
def test_nothing_is_known_of_what_a_plugin_computes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named: Any = "score" if kind == "self_score" else kind
    monkeypatch.setattr(plugins, "_registered", {(named, "own"): plugins.Plugin(named, "own", lambda: None)})
    theirs = recipe("transformer", f"model.{kind}=own")
    assert plugged(theirs.model) and not splittable(theirs) and not replicable(theirs)


@pytest.mark.parametrize(
    "change",
    [
        "model.experts={experts: 2, active: 1}",
        "model.hard={training: reinforce}",
        "training.reward={}",
        "training.phases=[{after: 0.5, reward: {}}]",
    ],
)
def test_what_depends_on_the_whole_batch_cannot(change: str) -> None:
    assert not splittable(recipe("transformer", change))
    assert not replicable(recipe("transformer", change))


@pytest.mark.parametrize(
    "change",
    [
        "training.word_dropout=0.1",
        "training.consistency={kind: r_drop}",
        "model.attention_dropout=0.1",
        "model.hard={training: gumbel}",
    ],
)
def test_chance_other_than_dropout_needs_one_thread_but_may_be_split(change: str) -> None:
    assert splittable(recipe("transformer", change))
    assert not replicable(recipe("transformer", change))


def test_scores_by_position_can_be_split() -> None:
    assert splittable(recipe("rnn", "model.score=location"))
