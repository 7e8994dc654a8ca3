"""One job of an arena as a process of its own. What it measures is tested in `test_measuring`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.tiny import Trained, table

from dragoman.arena import job, measuring
from dragoman.errors import InputError, RunError
from dragoman.jobs.verify import BAD, verify


def told(kind: str, folder: Path, **others: Any) -> dict[str, Any]:
    """Return what a job has to do."""
    given = {"kind": kind, "name": "rnn/seed-1", "folder": str(folder), "members": [], "sentence": None}
    return {**given, "recipe": table("rnn"), **others}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[Path]]:
    """Measure nothing; return which runs would have been measured together."""
    calls: list[list[Path]] = []

    def measure(runs: list[Path], table: Mapping[str, Any], folder: Path, *, sentence: str | None) -> dict[str, Any]:
        calls.append(runs)
        return {"bleu": 12.5}

    monkeypatch.setattr(measuring, "measure", measure)
    return calls


def test_a_training_leaves_its_numbers_and_no_checkpoint(
    trained: Trained, tmp_path: Path, measured: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copytree(trained("rnn"), tmp_path / "run")
    assert (run / "training").exists()
    monkeypatch.setattr(job, "train", lambda table, folder, *, name: {"steps": 2})
    assert job.run(told("training", run)) == 0
    assert json.loads((run / "result.json").read_text(encoding="utf-8")) == {"steps": 2, "bleu": 12.5}
    assert not (run / "training").exists()
    assert [one for one in verify(run) if one.state in BAD] == []
    assert measured == [[run]]


def test_a_training_that_is_finished_is_only_measured(
    tmp_path: Path, measured: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trained.json").write_text('{"steps": 9}', encoding="utf-8")
    monkeypatch.setattr(job, "train", lambda *given, **named: pytest.fail("it was trained already"))
    assert job.run(told("training", tmp_path)) == 0
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == {"steps": 9, "bleu": 12.5}


def test_damaged_numbers_of_a_training_are_refused(tmp_path: Path) -> None:
    (tmp_path / "trained.json").write_text('{"steps": ', encoding="utf-8")
    with pytest.raises(RunError, match=rf"trained\.json is damaged; remove {tmp_path} and add --retry"):
        job.run(told("training", tmp_path))


def test_a_trial_is_not_measured(tmp_path: Path, measured: list[list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "train", lambda *given, **named: tmp_path.mkdir(exist_ok=True) or {"dev_loss": 2.0})
    assert job.run(told("trial", tmp_path)) == 0
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == {"dev_loss": 2.0}
    assert measured == []


def test_a_training_that_was_stopped_leaves_no_result(
    tmp_path: Path, measured: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "train", lambda *given, **named: None)
    assert job.run(told("training", tmp_path)) == job.STOPPED
    assert not any(tmp_path.iterdir()) and measured == []


def test_an_ensemble_trains_nothing_and_is_measured_with_its_members(
    tmp_path: Path, measured: list[list[Path]]
) -> None:
    members = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert job.run(told("ensemble", tmp_path / "both", members=members)) == 0
    assert [[str(one) for one in runs] for runs in measured] == [members]


def test_what_is_refused_is_one_sentence_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(given: Mapping[str, Any]) -> int:
        raise InputError(f"{given['name']} does not fit")

    (tmp_path / "job.json").write_text('{"name": "rnn"}', encoding="utf-8")
    monkeypatch.setattr(job, "run", refuse)
    monkeypatch.setattr(sys, "argv", ["job", str(tmp_path / "job.json")])
    with pytest.raises(SystemExit) as ended:
        job.main()
    assert (ended.value.code, capsys.readouterr().err) == (2, "rnn does not fit\n")


def test_the_numbers_of_a_run_are_those_of_its_training(trained: Trained) -> None:
    folder = trained("rnn")
    found = job.train(table("rnn"), folder, name="rnn/seed-1")
    assert found is not None and found["steps"] == 20
    assert found["tokens"] > 0 and found["flops"] > 0 and found["parameters"] > 0 and found["dev_loss"] > 0
    assert found["data"] == json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["data"]
