"""`dragoman train`."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import dragoman, recipe_file, refusal

from dragoman.cli import console
from dragoman.cli.console import ConsoleListener
from dragoman.runs.folder import open_run


class Stopping(ConsoleListener):
    """Presses Ctrl-C at the third step."""

    def progress(self, record: Any) -> None:
        """Send the signal that a terminal sends."""
        super().progress(record)
        if record["step"] == 3:
            os.kill(os.getpid(), signal.SIGINT)


def test_the_folder_is_the_only_result(tmp_path: Path):
    found = dragoman("train", recipe_file(tmp_path, "rnn"), "--set", "training.steps=2", "--out", tmp_path / "run")
    assert found.code == 0
    assert found.lines == [str(tmp_path / "run")]
    assert "dev BLEU" in found.errors
    assert f"Use it with: dragoman translate {tmp_path / 'run'} < FILE" in found.errors
    assert open_run(tmp_path / "run").recipe.training.steps == 2


def test_a_run_stands_below_runs_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    found = dragoman("train", recipe_file(tmp_path, "rnn"), "--set", "training.steps=1")
    assert found.lines == ["runs/tiny"]
    sentence = refusal("train", "tiny.yaml")
    assert sentence == (
        "runs/tiny already holds a run; add --resume to continue it, or choose another folder with --out"
    )


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "ConsoleListener", Stopping)
    command = ("train", recipe_file(tmp_path, "transformer"), "--out", tmp_path / "run")
    found = dragoman(*command)
    assert (found.code, found.output) == (130, "")
    *_, last = found.errors.splitlines()
    assert "Saved at step 3." in last and "--resume" in last
    again = dragoman(*command, "--resume")
    assert again.code == 0
    assert "Resuming at step 3." in again.errors


def test_ctrl_c_before_the_first_step_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.jobs.prepare.codecs_for", interrupt)
    found = dragoman("train", recipe_file(tmp_path, "rnn"), "--out", tmp_path / "run")
    assert (found.code, found.output) == (130, "")
    assert found.errors.splitlines()[-1] == "Stopped before training began, so there is no run yet."
    assert not (tmp_path / "run").exists()


def test_a_second_ctrl_c_says_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(console.ConsoleListener, "progress", interrupt)
    found = dragoman("train", recipe_file(tmp_path, "rnn"), "--out", tmp_path / "run")
    assert (found.code, found.output) == (130, "")
    assert "what was not saved is lost" in found.errors.splitlines()[-1] and "--resume" in found.errors


def test_nothing_can_be_resumed_where_nothing_is(tmp_path: Path):
    command = ("train", recipe_file(tmp_path, "rnn"), "--out", tmp_path / "run", "--resume")
    assert f"there is no run {tmp_path / 'run'} to resume" in refusal(*command)
    (tmp_path / "run").mkdir()
    assert "is not a complete run: manifest.json is missing" in refusal(*command)
    assert "there is no run folder" in refusal("train", tmp_path / "none", "--resume")
    assert "is not a complete run" in refusal("train", tmp_path / "run", "--resume")
