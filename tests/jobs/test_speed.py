"""How fast this machine trains a model."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.tiny import left_to_auto, recipe

from dragoman.jobs import speed
from dragoman.jobs.speed import measure_speed, reference_of
from dragoman.models.seq2seq import Vocabularies
from dragoman.native.compilation import RECURRENCE, NativeError, prepare

CPU = torch.device("cpu")
SHARED = Vocabularies(300, 300, shared=True)


def silent(_: str) -> None:
    """Say nothing."""


def watched(monkeypatch: pytest.MonkeyPatch, *, sees: Any) -> list[Any]:
    """Return a list that gets what `sees` finds in the arguments of each step that is taken."""
    found: list[Any] = []
    whole = speed.train_step

    def step(*arguments: Any, **options: Any) -> Any:
        found.append(sees(*arguments, **options))
        return whole(*arguments, **options)

    monkeypatch.setattr(speed, "train_step", step)
    return found


@pytest.mark.parametrize("model", ["rnn", "transformer", "masked_lm", "decoder_only"])
def test_any_model_is_measured_without_touching_chance(model: str) -> None:
    before = torch.get_rng_state()
    assert 1 < measure_speed(recipe(model), SHARED, CPU, say=silent) < 1e7
    assert torch.equal(before, torch.get_rng_state())


def test_speed_is_measured_with_the_threads_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    used = watched(monkeypatch, sees=lambda *_, **__: torch.get_num_threads())
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        measure_speed(recipe("rnn", "training.threads=1"), SHARED, CPU, say=silent)
        assert set(used) == {1} and torch.get_num_threads() == 2
        used.clear()
        measure_speed(recipe("rnn", "training.threads=null"), SHARED, CPU, say=silent)
        assert set(used) == {1, 2} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_sentences_are_no_longer_than_the_model_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = watched(monkeypatch, sees=lambda *_, batches, **__: batches[0].source.ids.shape)
    for bound in (10, 100):
        given = recipe(
            "transformer", "model.positions=learned", f"model.max_positions={bound}", "training.batch_tokens=200"
        )
        measure_speed(given, SHARED, CPU, say=silent)
    assert shapes[0] == (17, 10) and shapes[-1] == (6, 25)  # 0.85 of 200 tokens
    measure_speed(recipe("transformer", "training.batch_tokens=1000000"), SHARED, CPU, say=silent)
    assert shapes[-1] == (speed.LARGEST * 85 // 100 // 25, 25)


@pytest.mark.parametrize(
    ("settings", "rows"), [((), (8, 4)), (("model.experts={experts: 4, active: 2}",), (8, 8))], ids=["rows", "batches"]
)
def test_several_processes_are_as_fast_as_their_shares(
    settings: tuple[str, ...], rows: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share the rows of a batch or, where its loss depends on all of it, batches."""
    taken = watched(monkeypatch, sees=lambda *_, batches, **__: len(batches[0].source.ids))
    clock = iter(range(1000))
    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    given = recipe("transformer", "training.batch_tokens=240", *settings)  # 0.85 of them are filled
    found = [measure_speed(given, SHARED, CPU, say=silent, processes=count) for count in (1, 2)]
    assert (taken[0], taken[-1]) == rows
    assert found == [25 * rows[0], 2 * 25 * rows[1]]


def test_recurrent_loops_run_as_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        prepare(RECURRENCE, silent)
    except NativeError as error:
        pytest.skip(str(error))
    plans = watched(
        monkeypatch, sees=lambda model, *_, **__: next(one.plan for one in model.modules() if hasattr(one, "plan"))
    )
    for way in ("auto", "plain"):
        measure_speed(recipe("rnn", f"training.recurrence={way}"), SHARED, CPU, say=silent)
    assert plans[0].native and not plans[-1].native
    assert plans[0].native_loss and plans[-1].native_loss


def test_slow_steps_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = watched(monkeypatch, sees=lambda *_, **__: 1)
    monkeypatch.setattr(speed, "SECONDS", 1e-9)
    measure_speed(recipe("transformer"), SHARED, CPU, say=silent)
    assert len(steps) == 2


def test_the_reference_is_the_same_for_every_recipe() -> None:
    given = reference_of(left_to_auto("training.threads=2", "training.consistency={kind: simcut}"), shared=True)
    other = reference_of(recipe("rnn", "training.batch_tokens=77"), shared=True)
    assert given.model == other.model and given.training.batch_tokens == other.training.batch_tokens == speed.BATCH
    assert given.training.threads == 2 and given.training.consistency is None and given.training.optimizer == "muon"


def test_the_reference_can_have_two_vocabularies() -> None:
    given = reference_of(recipe("rnn"), shared=False)
    assert measure_speed(given, Vocabularies(300, 200, shared=False), CPU, say=silent) > 1
