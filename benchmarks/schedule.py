"""Trainings of a benchmark, several at once, each in its own process; those that have a result are not repeated."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dragoman.errors import DragomanError

ROOT = Path(__file__).parents[1]
"""The repository."""

STOPPED = 130
"""Exit code of a training that was asked to stop, and saved."""

WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}
"""How threads wait for one another: as Dragoman's command line sets it on an idle machine."""

Say = Callable[[str], None]


class Job(Protocol):
    """One training. Its process gets `described()` as JSON, and leaves what `result` reads."""

    @property
    def name(self) -> str:
        """Return which training it is."""
        ...

    @property
    def folder(self) -> Path:
        """Return the folder of the run; next to it, a file describes the job while it runs."""
        ...

    def described(self) -> dict[str, Any]:
        """Return what its process must know."""
        ...

    def result(self) -> dict[str, Any] | None:
        """Return what was measured, or None if it was not."""
        ...

    def summary(self, result: dict[str, Any]) -> str:
        """Describe a result in a few words."""
        ...


@dataclass
class Outcome:
    """What came of all jobs."""

    results: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Sentences of the jobs that ended without a result, by name."""
    stopped: bool = False


def work_through(wanted: Sequence[Job], module: str, *, at_once: int, threads: int = 1, say: Say) -> Outcome:
    """Do the jobs that have no result yet, `at_once` at a time, by `python -m MODULE JOB.json`.

    Ctrl-C and SIGTERM let those under way save, and end.
    """
    outcome = Outcome()
    waiting = [job for job in wanted if job.result() is None]
    total, running, begin = len(waiting), dict[Path, tuple[Job, "subprocess.Popen[bytes]"]](), time.monotonic()
    say(f"{len(wanted) - total} of {len(wanted)} trainings are done; {total} are left.")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                running[job.folder] = job, _start(job, module, threads)
            for folder, (job, process) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[folder]
                _ended(job, process, outcome)
                done, result = total - len(waiting) - len(running), job.result()
                how = outcome.refused.get(job.name, "stopped") if result is None else job.summary(result)
                say(f"{done}/{total} after {(time.monotonic() - begin) / 60:.1f} min: {job.name}: {how}")
            time.sleep(0.1)
    except KeyboardInterrupt:
        outcome.stopped = True
        say("Stopping; running trainings are saved.")
        for _, process in running.values():
            process.send_signal(signal.SIGTERM)
        for job, process in running.values():
            process.wait()
            _ended(job, process, outcome)
    finally:
        signal.signal(signal.SIGTERM, before)
    outcome.results = [result for job in wanted if (result := job.result()) is not None]
    return outcome


def do(run: Callable[[dict[str, Any]], int]) -> None:
    """Do the job of this process with `run`, and exit with what it returns; 2 and one sentence if it is refused."""
    try:
        sys.exit(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    except DragomanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _start(job: Job, module: str, threads: int) -> "subprocess.Popen[bytes]":
    """Start a job with so many threads, out of reach of the terminal's Ctrl-C."""
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    described = _description(job)
    described.write_text(json.dumps(job.described()), encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    own = {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": path, **WAITING}
    with described.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(described)],
            env=os.environ | own,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def _description(job: Job) -> Path:
    """Return the file that describes a job to its process."""
    return job.folder.parent / f"{job.folder.name}.json"


def _ended(job: Job, process: "subprocess.Popen[bytes]", outcome: Outcome) -> None:
    """Note why a job has no result."""
    described = _description(job)
    if process.returncode and process.returncode != STOPPED:
        lines = described.with_suffix(".log").read_text(encoding="utf-8", errors="replace").strip().split("\n")
        outcome.refused[job.name] = lines[-1] or f"ended with {process.returncode}"
    for path in (described, described.with_suffix(".log")):
        path.unlink()
