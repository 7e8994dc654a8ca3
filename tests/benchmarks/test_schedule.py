"""Trainings of a benchmark, in processes of their own."""

import json
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benchmarks import schedule
from benchmarks.schedule import Outcome, work_through


@dataclass
class Job:
    """A job whose process writes what it was given, refuses, or never ends."""

    folder: Path
    kind: str = "works"

    @property
    def name(self) -> str:
        return self.folder.name

    def described(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "kind": self.kind}

    def result(self) -> dict[str, Any] | None:
        path = self.folder / "result.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def summary(self, result: dict[str, Any]) -> str:
        return f"threads {result['threads']}"


PROCESS = """
import json, os, sys, time
from pathlib import Path
job = json.loads(Path(sys.argv[1]).read_text())
if job["kind"] == "refuses":
    print("there is no such thing")
    sys.exit(2)
folder = Path(job["folder"])
folder.mkdir()
while job["kind"] == "endless":
    time.sleep(0.05)
(folder / "result.json").write_text(json.dumps({"threads": os.environ["OMP_NUM_THREADS"]}))
"""


@pytest.fixture(autouse=True)
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs run PROCESS."""
    (tmp_path / "process_of_test.py").write_text(PROCESS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert sys.executable


def work(*jobs: Job, said: list[str] | None = None, at_once: int = 2) -> Outcome:
    """Do the jobs."""
    say = (lambda sentence: None) if said is None else said.append
    return work_through(jobs, "process_of_test", at_once=at_once, threads=3, say=say)


def test_jobs_with_a_result_are_not_repeated_and_refusals_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    jobs = [Job(tmp_path / "work" / "one"), Job(tmp_path / "work" / "two", "refuses"), Job(tmp_path / "work" / "three")]
    first = work(*jobs, said=said)
    assert first.results == [{"threads": "3"}] * 2 and first.refused == {"two": "there is no such thing"}
    assert said[0] == "0 of 3 trainings are done; 3 are left."
    assert any("one: threads 3" in line for line in said) and any(
        "two: there is no such thing" in line for line in said
    )
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["one", "three"]
    again = work(*jobs, said=said)
    assert "2 of 3 trainings are done; 1 are left." in said and again.results == first.results


def test_ctrl_c_lets_trainings_save_and_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.monotonic()

    def interrupt(seconds: float) -> None:
        if (tmp_path / "work" / "endless").exists() or time.monotonic() - started > 60:
            raise KeyboardInterrupt

    monkeypatch.setattr(schedule.time, "sleep", interrupt)
    before = signal.getsignal(signal.SIGTERM)
    found = work(Job(tmp_path / "work" / "one"), Job(tmp_path / "work" / "endless", "endless"), at_once=1)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["endless", "one"]
    assert found.stopped and found.results == [{"threads": "3"}]
    assert signal.getsignal(signal.SIGTERM) is before
