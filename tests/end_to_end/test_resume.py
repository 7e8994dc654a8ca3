"""A run that was stopped, or killed, and resumed gives the weights of the unbroken one, bit for bit (law 10)."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import dragoman, process, recipe_file

from dragoman.data.ledger import remove_recorded
from dragoman.training.checkpoint import load_tensors
from dragoman.training.reports import MetricsFile

STEPS = 50
LONG = (f"training.steps={STEPS}", "training.validate_every=20", "training.save_minutes=100")
CASES = {
    "rnn": ("rnn",),
    "transformer": ("transformer", "text.sampling=0.1"),
    "replicas": ("transformer", "model.dropout=0.2", "training.replicas=2"),
    "techniques": (
        "transformer",
        "text.sampling=0.1",
        "text.sampling_epochs=1",
        "data.joined=0.3",
        "training.ema=0.9",
        "training.word_dropout=0.1",
        "training.consistency.kind=simcut",
    ),
}
LONGER = [name for name in CASES if name != "transformer"]
ENDS = 120
"""Seconds after which a process hangs."""


def weights(run: Path) -> dict[str, tuple[dict[str, bytes], dict[str, Any]]]:
    """Return all weights that training leaves, bit for bit, with what is written about them."""
    found = {}
    for path in sorted(run.rglob("*.safetensors")):
        tensors, about = load_tensors(path)
        if path.parent.name != "training":
            found[path.name] = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}, about
    assert "model.safetensors" in found and len(found) > 1
    return found


def steps(run: Path) -> list[int]:
    """Return the steps of all records."""
    return [record["step"] for record in MetricsFile(run / "metrics.jsonl").read()]


def wait_for(running: "subprocess.Popen[bytes]", text: bytes) -> bytes:
    """Read standard error until a line holds `text`."""
    assert running.stderr is not None
    read = b""
    while line := running.stderr.readline():
        read += line
        if text in line:
            return read
    raise AssertionError(read.decode())


@pytest.mark.slow
@pytest.mark.parametrize("case", ["transformer", *(pytest.param(one, marks=pytest.mark.slow) for one in LONGER)])
def test_a_run_stopped_by_ctrl_c_ends_as_an_unbroken_one(tmp_path: Path, case):
    path = recipe_file(tmp_path, *CASES[case], *LONG)
    running = process("train", path, "--out", "broken", folder=tmp_path)
    wait_for(running, b"  step 1  ")
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=ENDS)
    assert (running.returncode, output) == (130, b""), errors.decode()
    (stopped,) = [line for line in errors.decode().split("\n") if line.startswith("Saved at step ")]
    assert "Saved at step" in stopped and "--resume" in stopped
    assert 1 <= int(stopped.split()[3].rstrip(".")) < STEPS
    assert dragoman("train", path, "--out", tmp_path / "broken", "--resume").code == 0
    assert dragoman("train", path, "--out", tmp_path / "whole").code == 0
    assert weights(tmp_path / "broken") == weights(tmp_path / "whole")
    assert steps(tmp_path / "broken") == steps(tmp_path / "whole")


def test_a_killed_run_ends_as_an_unbroken_one(tmp_path: Path):
    often = ("training.save_minutes=0.0001",)
    path = recipe_file(tmp_path, "rnn", *LONG, *often)
    running = process("train", path, "--out", "killed", folder=tmp_path)
    saved = tmp_path / "killed" / "training" / "last.safetensors"
    until = time.monotonic() + ENDS
    while not saved.exists() and running.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    running.kill()
    running.communicate(timeout=ENDS)
    assert running.returncode == -signal.SIGKILL
    resumed = dragoman("train", path, "--out", tmp_path / "killed", "--resume")
    assert resumed.code == 0
    assert "Resuming at step " in resumed.errors
    assert dragoman("train", path, "--out", tmp_path / "whole").code == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert steps(tmp_path / "killed") == steps(tmp_path / "whole")


def test_a_run_killed_before_it_was_saved_begins_again(tmp_path: Path):
    path = recipe_file(tmp_path, "rnn", "training.steps=4")
    assert dragoman("train", path, "--out", tmp_path / "run").code == 0
    whole = weights(tmp_path / "run"), steps(tmp_path / "run")
    remove_recorded(tmp_path / "run", tmp_path / "run" / "training" / "last.safetensors")
    assert dragoman("train", path, "--out", tmp_path / "run", "--resume").code == 0
    assert (weights(tmp_path / "run"), steps(tmp_path / "run")) == whole


@pytest.mark.slow
def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path: Path):
    path = recipe_file(tmp_path, "transformer", "training.schedule=constant")
    short, long = ("--set", "training.steps=4"), ("--set", "training.steps=8")
    command = ("train", path, "--set", "training.validate_every=4", "--out")
    assert dragoman(*command, tmp_path / "run", *short).code == 0
    assert dragoman(*command, tmp_path / "run", *long, "--resume").code == 0
    assert dragoman(*command, tmp_path / "whole", *long).code == 0
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")
    again = dragoman(*command, tmp_path / "run", *long, "--resume")
    assert again.code == 0
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")
