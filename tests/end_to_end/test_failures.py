"""A full disk and a loss that is not a number end training in a sentence; what was saved before stays."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tiny import dragoman, recipe_file, refusal, room_for

from dragoman.runs.lock import LOCK
from dragoman.training.trainer import Trainer

FEW = ("training.validate_every=4", "training.schedule=constant", "training.warmup=0")


@pytest.fixture
def begun(tmp_path: Path) -> tuple[object, ...]:
    """Train 4 steps, and return the command that goes on to 8."""
    path = recipe_file(tmp_path, "transformer", *FEW)
    assert dragoman("train", path, "--set", "training.steps=4", "--out", tmp_path / "run").code == 0
    return ("train", path, "--set", "training.steps=8", "--out", tmp_path / "run", "--resume")


def test_a_full_disk_leaves_the_checkpoint_before(begun, tmp_path: Path):
    last = tmp_path / "run" / "training" / "last.safetensors"
    before = last.read_bytes()
    with room_for(len(before) // 2):
        sentence = refusal(*begun)
    assert f"{last} could not be saved" in sentence
    assert "checkpoint is kept; make room or choose another folder" in sentence
    assert last.read_bytes() == before
    assert not list((tmp_path / "run").rglob("*.partial"))
    assert len(dragoman("translate", tmp_path / "run", stdin="I love cats.\n").lines) == 1
    assert dragoman(*begun).code == 0


def test_a_disk_that_is_full_from_the_start_leaves_no_run(tmp_path: Path):
    path = recipe_file(tmp_path, "rnn", *FEW)
    with room_for(100):
        sentence = refusal("train", path, "--out", tmp_path / "run")
    assert "cannot be written" in sentence
    assert dragoman("train", path, "--set", "training.steps=1", "--out", tmp_path / "run").code == 0


def test_a_loss_that_is_not_a_number_names_the_batch_and_keeps_the_checkpoint(begun, tmp_path: Path):
    last = tmp_path / "run" / "training" / "last.safetensors"
    before = last.read_bytes()
    sentence = refusal(*begun, "--set", "training.learning_rate=1e30")
    assert "at step 6 (epoch " in sentence and "sentences of at most" in sentence
    assert f"the last checkpoint in {tmp_path / 'run'} is kept" in sentence
    assert sentence.endswith("lower training.learning_rate or training.clip, and continue with --resume")
    assert last.read_bytes() == before
    assert dragoman(*begun, "--set", "training.learning_rate=0.001", "--set", "training.clip=0.5").code == 0


def test_a_loss_that_is_never_a_number_leaves_a_run_that_can_begin_again(tmp_path: Path):
    path = recipe_file(tmp_path, "transformer", *FEW)
    command = ("train", path, "--set", "training.steps=4", "--out", tmp_path / "run")
    sentence = refusal(*command, "--set", "training.learning_rate=1e30")
    assert "at step 2 (epoch 0, batch 1: " in sentence
    assert "no checkpoint was saved yet" in sentence
    assert dragoman(*command, "--resume").code == 0


def test_weights_that_break_just_before_a_validation_are_not_kept(begun, tmp_path: Path):
    weights = (tmp_path / "run" / "model.safetensors").read_bytes()
    sentence = refusal(
        *begun, "--set", "training.learning_rate=1e30", "--set", "training.steps=5", "--set", "training.keep=0"
    )
    assert sentence.startswith("the model produces NaN probabilities on dev after step 5; the last checkpoint in ")
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == weights


def move(run: Path) -> None:
    """Move a run elsewhere."""
    run.rename(run.with_name("moved"))


def take_over(run: Path) -> None:
    """Lock a run as a process of another machine does that has waited too long for signs of life."""
    table = {"token": "other", "host": "elsewhere", "pids": [7], "time": time.time()}
    (run / LOCK).write_text(json.dumps(table), encoding="utf-8")


@pytest.mark.parametrize(("happens", "named"), [(move, "was moved or deleted"), (take_over, "7 on elsewhere")])
def test_a_run_that_is_moved_or_taken_over_is_written_to_no_more(
    begun: tuple[object, ...],
    happens: Callable[[Path], None],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, step = tmp_path / "run", Trainer._step

    def step_once_more(self: Trainer, *given: object) -> None:
        if self.progress.step == 5:
            happens(run)
        step(self, *given)  # type: ignore[arg-type]

    before = (run / "training" / "last.safetensors").read_bytes()
    monkeypatch.setattr(Trainer, "_step", step_once_more)
    assert named in refusal(*begun)
    place = run.with_name("moved") if happens is move else run
    assert (place / "training" / "last.safetensors").read_bytes() == before
    assert run.exists() == (happens is take_over)
    (place / LOCK).unlink()
    monkeypatch.undo()
    assert dragoman("train", "--resume", place, "--set", "training.steps=8").code == 0
