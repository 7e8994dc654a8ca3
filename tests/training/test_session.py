"""One session of training: from its first step, or from where the last one stopped."""

from pathlib import Path

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch import nn

from dragoman.laws.of_training import trainer_of
from dragoman.training.reports import Silent
from dragoman.training.session import train_for_a_session
from dragoman.training.settings import PhaseSettings, TrainingSettings
from dragoman.training.trainer import Trainer


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, sentence: str) -> None:
        """Keep a sentence."""
        self.said.append(sentence)


class Closed:
    """A stream that remembers that it was closed."""

    def __init__(self, trainer: Trainer) -> None:
        self.inner, self.closed = trainer.stream, False
        trainer.stream = self

    def __next__(self) -> object:
        return next(self.inner)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def close(self) -> None:
        """Remember."""
        self.closed = True
        self.inner.close()


def made(folder: Path, **settings: object) -> Trainer:
    """Make a trainer of a small model."""
    torch.manual_seed(1)
    given = {"batch_tokens": 40, "precision": "float32", "warmup": 0, "validate_every": 100, **settings}
    trainer = trainer_of(ARCHITECTURES["plain gru"], folder, settings=TrainingSettings(**given))
    trainer.listener = Heard()
    return trainer


def test_the_seed_decides_on_all_that_is_random(tmp_path: Path) -> None:
    weights = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        trainer = made(tmp_path / name, steps=3)
        torch.manual_seed(len(weights))  # what was drawn before does not count
        train_for_a_session(trainer, seed=seed, resuming=False)
        weights.append(next(iter(trainer.model.parameters())).detach().clone())
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_a_second_session_continues_and_says_where(tmp_path: Path) -> None:
    train_for_a_session(made(tmp_path, steps=2), seed=1, resuming=False)
    trainer = made(tmp_path, steps=3)
    assert train_for_a_session(trainer, seed=1, resuming=True).step == 3
    assert trainer.listener.inner.said[0] == "Resuming at step 2."


@pytest.mark.parametrize("budget", [{"steps": 2}, {"steps": 1}, {"steps": 9, "flops": 1.5}, {"epochs": 0.001}])
def test_a_session_without_any_budget_left_says_how_to_train_on(budget: dict[str, float], tmp_path: Path) -> None:
    train_for_a_session(made(tmp_path, steps=2), seed=1, resuming=False)
    trainer = made(tmp_path, **budget)
    assert train_for_a_session(trainer, seed=1, resuming=True).step == 2
    said = trainer.listener.inner.said[0]
    begin = "The budget was used up at step 2; to train on, resume with a larger one, such as --set training."
    assert said.startswith(begin)
    name, value = said.removeprefix(begin).removesuffix(".").split("=")
    assert name == [*budget][-1] and (name != "steps" or value == "4")
    larger = {**budget, name: int(value) if name == "steps" else float(value)}
    assert train_for_a_session(made(tmp_path, **larger), seed=1, resuming=True).step > 2


def test_a_session_without_any_budget_left_says_what_a_larger_one_does_to_phases(tmp_path: Path) -> None:
    phases = (PhaseSettings(after=0.5),)
    train_for_a_session(made(tmp_path, steps=2, phases=phases), seed=1, resuming=False)
    trainer = made(tmp_path, steps=2, phases=phases)
    train_for_a_session(trainer, seed=1, resuming=True)
    assert "go back to an earlier one" in trainer.listener.inner.said[0]


def test_a_new_run_forgets_the_records_of_one_that_stood_there(tmp_path: Path) -> None:
    trainer = made(tmp_path, steps=2, log_every=1)
    trainer.metrics.append({"step": 9, "loss": 1.0})
    train_for_a_session(trainer, seed=1, resuming=False)
    assert [record["step"] for record in trainer.metrics.read() if "loss" in record] == [1, 2]


def test_the_stream_is_closed_even_where_training_breaks(tmp_path: Path) -> None:
    trainer = made(tmp_path, steps=2)
    stream = Closed(trainer)

    def broken(model: object, batch: object) -> object:
        raise ValueError

    trainer.objective = broken
    with pytest.raises(ValueError):
        train_for_a_session(trainer, seed=1, resuming=False)
    assert stream.closed


def test_a_training_that_stopped_early_says_how_to_train_on(tmp_path: Path) -> None:
    for resuming in (False, True):
        trainer = made(tmp_path, steps=9, patience=1, validate_every=1)
        trainer.validate = lambda model: {"dev_loss": 1.0, "dev_bleu": 0.0}
        assert train_for_a_session(trainer, seed=1, resuming=resuming).step == 2
    assert trainer.listener.inner.said == [
        "Stopped early: 1 validation without better weights than those of step 1.",
        "To train on from step 2, resume with more patience, such as --set training.patience=2.",
    ]


def test_a_validation_that_uses_up_the_minutes_is_the_last(tmp_path: Path) -> None:
    trainer = made(tmp_path, minutes=10.0, validate_every=2)
    times: list[int] = []

    def validate(model: nn.Module) -> dict[str, float]:
        times.append(trainer.progress.step)
        trainer.progress.seconds += 350
        return {"dev_loss": 1.0, "dev_bleu": 1.0}

    trainer.validate = validate
    assert train_for_a_session(trainer, seed=1, resuming=False).finished
    assert times == [2, 4]
