"""`dragoman plan`."""

import json
from pathlib import Path

import pytest
from tests.tiny import dragoman, recipe_file, refusal

from dragoman.jobs import plan as module


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a probe end early."""
    monkeypatch.setattr(module, "SECONDS", 0.3)


def test_a_plan_is_printed_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = recipe_file(tmp_path, "transformer", "training.warmup=auto")
    monkeypatch.chdir(tmp_path)
    found = dragoman("plan", path, "--set", "training.steps=1000", "--set", "training.patience=3")
    assert found.code == 0, found.errors
    assert [one.name for one in tmp_path.iterdir()] == ["tiny.yaml"]
    for words in (
        ("Machine", "training on cpu"),
        ("training.warmup", "steps in the budget"),
        ("Parameters", "are trained"),
        ("encoder.layers",),
        ("Memory", "peak in the probe", "are free"),
        ("largest batch", "B"),
        ("Epoch", "300 pairs"),
        ("FLOPs of an epoch",),
        ("tokens per second", "float32, 1 thread"),
        ("Steps", "1,000", "`training.steps` ends training"),
        ("Time to finish", "validations, or less with `training.patience`"),
        ("Disk",),
        ("encoded corpus", "kB"),
    ):
        assert any(all(word in line for word in words) for line in found.lines), (words, found.output)


def test_without_a_probe_no_step_is_taken(tmp_path: Path):
    found = dragoman("plan", recipe_file(tmp_path, "rnn"), "--no-probe")
    assert found.code == 0 and "tokens per second" not in found.output and "Time to finish" not in found.output
    assert "--no-probe leaves out" in found.output
    minutes = ("--set", "training.steps=null", "--set", "training.minutes=2")
    found = dragoman("plan", recipe_file(tmp_path, "rnn"), "--no-probe", *minutes)
    assert "with a probe only" in found.output


def test_a_plan_says_that_only_the_first_phase_was_measured(tmp_path: Path):
    phases = "training.phases=[{after: 0.9, reward: {samples: 2}}]"
    once = ("training.steps=1000", "training.validate_every=1000")
    found = dragoman("plan", recipe_file(tmp_path, "rnn", *once, phases))
    assert any("first phase" in line and "`training.phases`" in line for line in found.lines), found.output
    assert any(line.startswith("Time to finish") and line.endswith("with 1 validation") for line in found.lines)


def test_json_has_bytes_and_seconds(tmp_path: Path):
    table = json.loads(dragoman("plan", recipe_file(tmp_path, "rnn"), "--json").output)
    assert table["memory"]["total"] == sum(value for name, value in table["memory"].items() if name != "total")
    assert table["disk"]["total"] == sum(value for name, value in table["disk"].items() if name != "total")
    assert table["work"]["steps"] == 20 and table["work"]["seconds"] > 0
    assert table["estimated_memory"] == table["probe"]["peak_memory"] > 1e6
    assert table["recipe"]["model"]["kind"] == "rnn" and table["parameters"]


def test_what_cannot_be_trained_is_refused(tmp_path: Path):
    path = recipe_file(tmp_path, "rnn")
    assert "training.momentum" in refusal("plan", path, "--set", "training.momentum=0.5")
    assert "GiB of memory are free" in refusal("plan", path, "--set", "model.hidden=100000000")
