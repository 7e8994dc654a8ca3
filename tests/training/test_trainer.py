"""The training loop. That a resumed run equals an unbroken one is law 10 in `tests/laws`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch import nn

from dragoman.errors import RunError, TrainingError
from dragoman.interfaces import Batch, Loss
from dragoman.laws.of_training import StopAt, trainer_of
from dragoman.layers.dropout import switch_dropout
from dragoman.models.seq2seq import Seq2Seq
from dragoman.special_ids import SpecialIds
from dragoman.training.checkpoint import load_tensors, own_tensors
from dragoman.training.contracts import Objective
from dragoman.training.progress import Progress, RunningTotals
from dragoman.training.settings import PhaseSettings, TrainingSettings
from dragoman.training.trainer import Trainer, ValidationInterrupt

Make = Callable[..., Trainer]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make a trainer of a small model with these settings."""
    made: list[Trainer] = []

    def trainer(**settings: Any) -> Trainer:
        torch.manual_seed(1)
        given = {"batch_tokens": 40, "precision": "float32", "warmup": 0, "validate_every": 100, **settings}
        made.append(trainer_of(ARCHITECTURES["plain gru"], tmp_path / "run", settings=TrainingSettings(**given)))
        return made[-1]

    yield trainer
    for one in made:
        one.stream.close()


def validate_with(trainer: Trainer, *scores: float) -> list[bool]:
    """Let dev BLEU be these scores in turn; return where it is noted whether the model was in evaluation mode."""
    quiet: list[bool] = []
    left = iter(scores)

    def validate(model: Seq2Seq) -> dict[str, float]:
        quiet.append(not model.training)
        return {"dev_loss": 1.0, "dev_bleu": next(left)}

    trainer.validate = validate
    return quiet


def test_a_budget_of_steps_is_kept_to_the_step(make: Make) -> None:
    progress = make(steps=3).run()
    assert progress.finished and progress.step == 3 and progress.tokens > 0 and progress.seconds > 0


def test_a_budget_of_epochs_ends_with_the_last_batch(make: Make) -> None:
    trainer = make(epochs=2)
    trainer.run()
    assert trainer.stream.epochs_done == 2.0
    assert trainer.progress.step == 2 * make(epochs=1).run().step


def test_a_budget_of_minutes_ends_when_they_are_over(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100_000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    progress = make(minutes=0.25).run()
    assert progress.finished and progress.seconds >= 15


def test_the_first_budget_reached_ends(make: Make) -> None:
    trainer = make(steps=2, epochs=50, minutes=60)
    assert trainer.run().step == 2
    assert trainer.share() == 1.0


def test_training_goes_on_where_a_batch_does_not_fit_into_memory(make: Make, few_objects: None) -> None:
    found = []
    for full in (False, True):
        trainer = make(steps=3, optimizer="sgd", learning_rate=0.1)
        switch_dropout(trainer.rates, on=False)
        objective, said = trainer.objective, list[str]()

        def limited(model: Seq2Seq, pairs: Batch, objective: Objective = objective, full: bool = full) -> Loss:
            if full and len(pairs.source.ids) > 1:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return objective(model, pairs)

        trainer.objective = limited
        trainer.splitter.say = said.append
        trainer.run()
        found.append((trainer.progress.tokens, own_tensors(trainer.model)))
        assert len(said) == full
    (tokens, whole), (again, parts) = found
    assert tokens == again
    for name, weight in whole.items():
        torch.testing.assert_close(parts[name], weight, rtol=1e-3, atol=1e-5)


def test_padding_is_what_the_mask_says_whatever_its_id(make: Make) -> None:
    shares = []
    for pad in (0, 10_000):
        trainer = make(steps=1, log_every=1)
        trainer.model.special = replace(SpecialIds(), pad=pad)
        trainer.run()
        shares += [record["padding"] for record in trainer.metrics.read() if "padding" in record][-1:]
    assert 0 < shares[0] == shares[1]


def test_the_loss_falls(make: Make) -> None:
    trainer = make(steps=40, log_every=10, learning_rate=0.02, schedule="constant")
    trainer.run()
    losses = [record["loss"] for record in trainer.metrics.read() if "loss" in record]
    assert len(losses) == 4 and losses[-1] < losses[0] - 0.5


def test_records_say_where_training_stands(make: Make) -> None:
    trainer = make(steps=4, log_every=2, validate_every=4, schedule="linear", learning_rate=0.5)
    trainer.run()
    first, last, dev = trainer.metrics.read()
    assert (first["step"], last["step"], dev["step"]) == (2, 4, 4)
    assert (first["learning_rate"], last["learning_rate"]) == (0.5 * 3 / 4, 0.5 * 1 / 4)
    assert (first["share"], last["share"], last["seconds_left"]) == (0.5, 1.0, 0.0)
    assert 0 <= first["padding"] < 1 and first["tokens_per_second"] > 0 and 0 < first["tokens"] < last["tokens"]
    assert dev["dev_loss"] == 1.0 and dev["best"] is True


def test_the_rate_counts_the_time_of_all_steps_and_of_no_validation(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("dragoman.training.progress.time.monotonic", lambda: clock[0])
    trainer = make(steps=4, log_every=4, validate_every=3)
    step, quiet = trainer._step, validate_with(trainer, 1.0, 2.0)
    measured = trainer.validate

    def slow_step(totals: RunningTotals) -> None:
        step(totals)
        clock[0] += 2

    def slow_validation(model: Seq2Seq) -> dict[str, float]:
        clock[0] += 100
        return measured(model)

    monkeypatch.setattr(trainer, "_step", slow_step)
    trainer.validate = slow_validation
    trainer.run()
    assert len(quiet) == 2
    (record,) = [one for one in trainer.metrics.read() if one["step"] == 4 and "tokens_per_second" in one]
    assert record["tokens_per_second"] == pytest.approx(trainer.progress.tokens / 8)


def test_batches_are_gathered_for_the_tokens_of_a_step(make: Make) -> None:
    one, many = make(steps=1), make(steps=1, tokens_per_step=70)
    assert many.run().tokens >= 70 > one.run().tokens


def test_validation_is_in_evaluation_mode_and_training_goes_on(make: Make) -> None:
    trainer = make(steps=5, validate_every=2)
    quiet = validate_with(trainer, 1, 2, 3)
    trainer.run()
    assert quiet == [True, True, True]
    assert trainer.model.training


def test_the_weights_best_on_dev_are_kept(make: Make) -> None:
    trainer = make(steps=4, validate_every=1)
    validate_with(trainer, 10, 30, 20, 30)
    trainer.run()
    _, about = load_tensors(trainer.files.folder / "model.safetensors")
    assert about["step"] == trainer.progress.best_step == 2
    assert (trainer.progress.best, trainer.progress.stale) == (30, 2)


def test_a_lower_dev_loss_is_better(make: Make) -> None:
    trainer = make(steps=2, validate_every=1, metric="loss")
    losses = iter([3.0, 4.0])
    trainer.validate = lambda model: {"dev_loss": next(losses), "dev_bleu": 0.0}
    trainer.run()
    assert trainer.progress.best_step == 1


@pytest.mark.parametrize(("patience", "validations", "ended"), [(1, "1 validation", 4), (2, "2 validations", 5)])
def test_it_stops_early_when_dev_gets_no_better(make: Make, patience: int, validations: str, ended: int) -> None:
    said: list[str] = []
    trainer = make(steps=50, validate_every=1, patience=patience)
    trainer.listener.say = said.append
    validate_with(trainer, 4, 5, 6, 4, 6, 7)
    assert trainer.run().finished and trainer.progress.step == ended
    assert said == [f"Stopped early: {validations} without better weights than those of step 3."]


def test_only_the_last_weights_are_kept_for_averaging(make: Make) -> None:
    trainer = make(steps=5, validate_every=1, keep=2)
    trainer.run()
    names = sorted(path.name for path in (trainer.files.folder / "checkpoints").iterdir())
    assert names == ["step-00000004.safetensors", "step-00000005.safetensors"]
    last, _ = load_tensors(trainer.files.folder / "checkpoints" / names[-1])
    assert all(torch.equal(last[name], tensor) for name, tensor in own_tensors(trainer.model).items())


def test_stopping_ends_after_the_step_and_saves(make: Make) -> None:
    trainer = make(steps=50)
    assert isinstance(trainer.listener, StopAt)
    trainer.listener.stop_at(trainer, 3)
    assert not trainer.run().finished
    _, about = load_tensors(trainer.files.folder / "training" / "last.safetensors")
    assert about["progress"]["step"] == 3
    assert about["position"] == trainer.stream.position


@pytest.mark.parametrize(
    "settings", [{}, {"ema": 0.9}, {"metric": "loss", "patience": 3}], ids=["plain", "ema", "patience"]
)
def test_a_validation_that_was_interrupted_is_done_first_on_resuming(make: Make, settings: dict[str, Any]) -> None:
    often: dict[str, Any] = {"steps": 6, "validate_every": 2, "keep": 2, **settings}
    broken = make(**often)
    validate = broken.validate
    given: Iterator[Any] = iter([validate, interrupted(broken)])
    broken.validate = lambda model: next(given)(model)
    broken.run()
    _, about = load_tensors(broken.files.last)
    assert (about["progress"]["step"], about["progress"]["due"]) == (4, True)
    assert not broken.progress.finished and [record["step"] for record in validations(broken)] == [2]
    resumed = make(**often)
    resumed.restore()
    assert resumed.run().finished
    assert "due" not in load_tensors(resumed.files.last)[1]["progress"]
    records, weights = validations(resumed), own_tensors(resumed.model)
    for path in resumed.files.folder.rglob("*.*"):
        path.unlink()
    whole = make(**often)
    whole.run()
    assert all(torch.equal(weights[name], tensor) for name, tensor in own_tensors(whole.model).items())
    timeless = [[{**record, "seconds": 0} for record in some] for some in (records, validations(whole))]
    assert timeless[0] == timeless[1] and [record["step"] for record in records] == [2, 4, 6]


def test_the_last_validation_too_may_be_interrupted(make: Make) -> None:
    broken = make(steps=2)
    broken.validate = interrupted(broken)
    assert not broken.run().finished
    resumed = make(steps=2)
    resumed.restore()
    assert resumed.run().finished and resumed.files.weights.exists()
    assert [record["step"] for record in validations(resumed)] == [2]


def interrupted(trainer: Trainer) -> Callable[[nn.Module], dict[str, Any]]:
    """Return a validation in which a signal arrives."""

    def validate(model: nn.Module) -> dict[str, Any]:
        trainer.stop_requested = True
        raise ValidationInterrupt

    return validate


def validations(trainer: Trainer) -> list[dict[str, Any]]:
    """Return the records of validations."""
    return [record for record in trainer.metrics.read() if "dev_loss" in record]


def test_work_is_saved_every_few_minutes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    now, saves = iter(range(100_000)), []
    monkeypatch.setattr("time.monotonic", lambda: 30.0 * next(now))
    trainer = make(steps=8, save_minutes=5)
    save = trainer.save
    trainer.save = lambda: saves.append(trainer.progress.step) or save()
    trainer.run()
    assert len(saves) > 1 and saves[0] < 8 == saves[-1]


def test_records_after_the_checkpoint_are_forgotten_on_resuming(make: Make) -> None:
    trainer = make(steps=4, log_every=1)
    trainer.listener.stop_at(trainer, 2)
    trainer.run()
    trainer.metrics.append({"step": 3, "loss": 1.0})
    resumed = make(steps=4, log_every=1)
    resumed.restore()
    assert [record["step"] for record in resumed.metrics.read()] == [1, 2]
    assert resumed.run().step == 4


def test_a_larger_budget_goes_on_and_a_used_one_does_not(make: Make) -> None:
    make(steps=2).run()
    used, larger = make(steps=2), make(steps=3)
    used.restore()
    assert used.run().step == 2 and used.progress.finished
    larger.restore()
    assert larger.run().step == 3


def test_a_run_that_was_never_saved_cannot_be_resumed(make: Make) -> None:
    with pytest.raises(RunError, match=r"last.safetensors is missing"):
        make(steps=1).restore()


def test_a_checkpoint_that_says_nothing_of_training_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make(steps=1)
    monkeypatch.setattr(Progress, "to_json", lambda progress: {"unknown": 1})
    trainer.run()
    with pytest.raises(RunError, match=r"contains no training position, so it cannot be resumed; start a new run"):
        make(steps=1).restore()


def test_a_loss_that_is_not_a_number_is_told_with_its_place(make: Make) -> None:
    trainer = make(steps=5)
    objective = trainer.objective

    def broken(model: Seq2Seq, batch: Any) -> Loss:
        loss = objective(model, batch)
        return Loss(loss.total * float("nan"), loss.tokens, loss.plain) if trainer.progress.step == 2 else loss

    trainer.objective = broken
    with pytest.raises(
        TrainingError,
        match=r"the loss is nan .* at step 3 \(epoch 0, batch 2: \d+ sentences .*lower training\.learning_rate",
    ):
        trainer.run()
    assert all(tensor.isfinite().all() for tensor in own_tensors(trainer.model).values())


def test_progress_begins_at_nothing() -> None:
    assert Progress() == Progress(0, 0.0, 0, None, 0, None, 0, 0, finished=False)


def test_a_budget_of_tokens_or_of_flops_ends_the_training(make: Make) -> None:
    progress = make(tokens=200).run()
    assert progress.finished and 200 <= progress.tokens < 250
    progress = make(flops=2e6).run()
    assert progress.finished and progress.step > 2
    assert 2e6 <= progress.flops < 2e6 + 2 * progress.flops / progress.step


@pytest.mark.parametrize(("name", "value"), [("tokens", 3), ("flops", 10.0), ("minutes", 1e-9), ("epochs", 1e-6)])
def test_a_budget_too_small_for_one_step_is_refused(make: Make, name: str, value: float) -> None:
    with pytest.raises(TrainingError, match=rf"`training\.{name}: .*` is too small for one step, .* set a larger"):
        make(**{name: value}).run()


def test_records_tell_what_training_cost_so_far(make: Make) -> None:
    trainer = make(steps=6, log_every=2, validate_every=3)
    trainer.run()
    costs = [record["flops"] for record in trainer.metrics.read()]
    assert len(costs) == 5 and costs == sorted(costs) and costs[-1] == trainer.progress.flops > costs[0] > 0
    assert all(record["tokens"] > 0 for record in trainer.metrics.read())


def test_a_phase_begins_after_its_share_with_its_own_optimiser_and_rate(make: Make) -> None:
    phases = (PhaseSettings(after=0.5, optimizer="sgd", learning_rate=0.25, schedule="constant", dropout=False),)
    trainer = make(steps=8, learning_rate=0.01, schedule="constant", phases=phases, log_every=1)
    trainer.run()
    rates = [record["learning_rate"] for record in trainer.metrics.read() if "loss" in record]
    assert rates == [0.01] * 4 + [0.25] * 4
    assert isinstance(trainer.optimizer, torch.optim.SGD)
    assert (trainer.progress.phase, trainer.progress.began) == (1, 4)
    assert all(getattr(rate.module, rate.attribute) == 0 for rate in trainer.rates)
    assert any(rate.value for rate in trainer.rates)


def test_the_objective_is_that_of_the_phase(make: Make) -> None:
    trainer = make(steps=4, phases=(PhaseSettings(after=0.5, learning_rate=0.5),))
    seen: list[float] = []
    usual = trainer.objectives

    def objectives(settings: TrainingSettings) -> Objective:
        seen.append(settings.learning_rate)
        return usual(settings)

    trainer.objectives = objectives
    trainer.run()
    assert seen == [0.5]


def test_a_plateau_lowers_the_rate_after_each_validation_that_is_not_the_best(make: Make) -> None:
    trainer = make(steps=8, learning_rate=1.0, schedule="plateau", optimizer="sgd", log_every=1, validate_every=2)
    validate_with(trainer, 10.0, 9.0, 11.0, 10.5)
    trainer.run()
    rates = [record["learning_rate"] for record in trainer.metrics.read() if "loss" in record]
    assert rates == pytest.approx([1.0] * 4 + [0.1] * 4)


def test_no_more_batches_are_gathered_than_a_step_needs(make: Make) -> None:
    enough = make(steps=1).run().tokens
    assert make(steps=1, tokens_per_step=enough).run().tokens == enough
    assert make(steps=1, tokens_per_step=enough + 1).run().tokens > enough


def test_each_phase_warms_up_from_its_own_first_step(make: Make) -> None:
    phases = (PhaseSettings(after=0.5, optimizer="sgd", learning_rate=0.5, schedule="constant", warmup=4),)
    trainer = make(steps=8, learning_rate=0.01, schedule="constant", phases=phases, log_every=1)
    trainer.run()
    rates = [record["learning_rate"] for record in trainer.metrics.read() if "loss" in record]
    assert rates == pytest.approx([0.01] * 4 + [0.125, 0.25, 0.375, 0.5])
