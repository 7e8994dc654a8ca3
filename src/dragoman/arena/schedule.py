"""Run the jobs of an arena in parallel, each in its own process; other workers on the same folder share them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from dragoman.arena.folder import Folder
from dragoman.arena.job import STOPPED
from dragoman.arena.plan import Job, Plan, scaled
from dragoman.arena.settings import ArenaSettings
from dragoman.errors import number_of
from dragoman.machine.cores import usable_cores
from dragoman.runs.lock import Claim, claim, owned
from dragoman.training.reports import MetricsFile

LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK")
"""Variables that a launcher sets for this process and a job must not inherit."""
POLL = 0.25
"""Seconds between checks of the jobs."""


@runtime_checkable
class ProgressListener(Protocol):
    """Is notified of the progress."""

    def say(self, sentence: str) -> None:
        """Receive a message."""
        ...

    def progress(self, running: Callable[[], Mapping[str, Mapping[str, Any]]], *, done: int, total: int) -> None:
        """Receive the number of jobs done; `running` returns the last record of each running job, empty before its first."""
        ...


@dataclass
class Running:
    """A job running in this worker."""

    job: Job
    claim: Claim
    process: "subprocess.Popen[bytes]"
    environment: Mapping[str, str]
    began: float = field(default_factory=time.monotonic)


class Worker:
    """Run the free jobs of a plan, as many in parallel as there are slots."""

    def __init__(
        self, plan: Plan, folder: Folder, listener: ProgressListener, *, jobs: Sequence[Job] | None = None
    ) -> None:
        self.plan, self.folder, self.listener = plan, folder, listener
        self.jobs = list(plan.jobs if jobs is None else jobs)
        self.by_name = {job.name: job for job in plan.jobs}
        self.free = places(plan.arena.parallel)
        self.running: list[Running] = []
        self.aside: set[str] = set()
        """Jobs that someone else stopped: not restarted in this session."""
        self.known: set[str] = set()
        """Jobs whose results have been seen: read again and again, they would take the time of those that run."""

    def work(self) -> bool:
        """Work until nothing is left for this process; return False if Ctrl-C or SIGTERM ended it, after saving."""
        handled = (
            signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        )  # a command has a handler, and an exit code for it
        before = None if handled else signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while self.running or self._left():
                self._begin_more()
                for one in [one for one in self.running if one.process.poll() is not None]:
                    self._ended(one)
                for one in [one for one in self.running if not one.claim.refresh()]:
                    self._lost(one)
                self._tell()
                time.sleep(POLL)
        except KeyboardInterrupt:
            self._stop()
            return False
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)
        return True

    def done(self, job: Job | str) -> bool:
        """Tell whether a job has its result, which no worker takes back."""
        name = job if isinstance(job, str) else job.name
        if name not in self.known and self.folder.done(name):
            self.known.add(name)
        return name in self.known

    def blocked(self, job: Job) -> str | None:
        """Return why a job can never start: it or a dependency failed. A search continues as long as one trial is left."""
        if (failure := self.folder.failure(job)) is not None:
            return failure
        needed = [self.by_name[name] for name in job.needs]
        broken = [one for one in needed if not self.done(one) and self.blocked(one) is not None]
        if needed and needed[0].is_trial:
            return self.blocked(broken[0]) if len(broken) == len(needed) else None
        return f"its member `{broken[0].system}` failed" if broken else None

    def _left(self) -> bool:
        """Tell whether a job may still have to be started here."""
        return any(
            not self.done(job)
            and self.blocked(job) is None
            and not owned(self.folder.file(job, ".lock"))
            and not self._waits_for_aside(job)
            for job in self.jobs
        )

    def _waits_for_aside(self, job: Job) -> bool:
        """Tell whether a job or a dependency was put aside or is not to be run here."""
        names = {one.name for one in self.jobs}
        needed = [self.by_name[name] for name in job.needs]
        return job.name in self.aside or any(
            not self.done(one) and self.blocked(one) is None and (one.name not in names or self._waits_for_aside(one))
            for one in needed
        )

    def _ready(self) -> Iterator[Job]:
        """Yield the jobs that can start now."""
        for job in self.jobs:
            settled = all(self.done(name) or self.blocked(self.by_name[name]) is not None for name in job.needs)
            if settled and job.name not in self.aside and not self.done(job) and self.blocked(job) is None:
                yield job

    def _begin_more(self) -> None:
        """Start jobs while there are free slots."""
        for job in self._ready() if self.free else ():
            if not self.free:
                return
            mine = claim(self.folder.file(job, ".lock"))
            if mine is None:
                continue
            if self.done(job) or self.folder.failure(job) is not None:
                mine.release()  # another process finished it between the check and the lock
                continue
            environment = self.free.pop(0)
            process = _start(
                self.describe(job), self.folder.file(job, ".log"), environment, threads=self.plan.arena.threads
            )
            mine.add(process.pid)
            self.running.append(Running(job, mine, process, environment))

    def describe(self, job: Job) -> Path:
        """Write the task of a job's process; its learning rate is known by now."""
        factor = 1.0 if job.is_trial or job.members else chosen_factor(self.plan, self.folder, job.system)
        return self.folder.describe(job, scaled(job.recipe, factor or 1.0), self.plan.arena.attention_sentence)

    def _ended(self, one: Running) -> None:
        """Record how a job ended, and free its slot."""
        code = one.process.returncode
        if code in (STOPPED, -signal.SIGTERM):
            self.aside.add(one.job.name)
            self.listener.say(f"{one.job.name}: stopped; run the same command to continue.")
        elif not self.done(one.job):
            self.folder.fail(one.job, why(code, self.folder.file(one.job, ".log")))
            self.listener.say(f"{one.job.name}: failed: {self.folder.failure(one.job)}")
        else:
            minutes = (time.monotonic() - one.began) / 60
            self.listener.say(f"{one.job.name}: {summary(self.folder.result(one.job) or {})} after {minutes:.1f} min")
        self._leave(one)

    def _lost(self, one: Running) -> None:
        """Stop a job that another worker has taken over."""
        one.process.kill()
        one.process.wait()
        self.aside.add(one.job.name)
        self.listener.say(f"{one.job.name}: another process has taken it over, because this one did not respond.")
        self._leave(one)

    def _leave(self, one: Running) -> None:
        """Release the lock and the slot of a job."""
        if one.process.stdin is not None:
            one.process.stdin.close()
        self.running.remove(one)
        self.free.append(one.environment)
        one.claim.release()

    def _stop(self) -> None:
        """Let the running jobs save and stop."""
        self.listener.say("Stopping; running trainings are saved.")
        for one in self.running:
            one.process.send_signal(signal.SIGTERM)
        for one in list(self.running):
            one.process.wait()
            self._leave(one)

    def _tell(self) -> None:
        """Report the progress of the running jobs."""
        self.listener.progress(
            lambda: {one.job.name: last_record(self.folder.run(one.job) / "metrics.jsonl") for one in self.running},
            done=sum(self.done(job) for job in self.jobs),
            total=len(self.jobs),
        )


def chosen_factor(plan: Plan, folder: Folder, system: str) -> float | None:
    """Return the learning-rate factor whose trial had the lowest dev loss; None without a search or before it has finished."""
    found = [(result["dev_loss"], job.factor) for job in plan.trials(system) if (result := folder.result(job))]
    return min(found)[1] if found else None


def places(parallel: int) -> list[Mapping[str, str]]:
    """Return the slots for parallel jobs: the environment variables of each.

    Under a launcher that sets LOCAL_RANK, there is one slot with the GPU of that number; otherwise one slot per GPU if there
    are several, else `parallel` slots.
    """
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(number) for number in range(count)]
    rank = os.environ.get("LOCAL_RANK")
    if count and rank is not None and rank.isdigit():
        return [{"CUDA_VISIBLE_DEVICES": names[int(rank) % len(names)]}]
    if count > 1:
        return [{"CUDA_VISIBLE_DEVICES": name} for name in names]
    return [{} for _ in range(parallel)]


def crowding(arena: ArenaSettings, jobs: int) -> str | None:
    """Return a warning if the jobs that run at a time, of so many, share cores: then equal minutes are not equal budgets."""
    together, cores = min(arena.parallel, jobs), usable_cores()
    if arena.budget.kind != "minutes" or together * arena.threads <= cores or torch.cuda.device_count():
        return None
    return (
        f"{number_of(together, 'job')} at a time (`parallel`) with {number_of(arena.threads, 'thread')} each (`threads`) share "
        f"{number_of(cores, 'core')}, so what a system learns in its minutes depends on the others; set `parallel` and `threads` "
        f"so that their product is at most {cores}, or a budget of FLOPs or tokens."
    )


def why(code: int, log: Path) -> str:
    """Describe why a process that exited with `code` has no result; the last line of its log is the error."""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").split("\n") if line.strip()]
    if code < 0:
        return f"its process was killed by signal {-code} ({signal.Signals(-code).name}); did memory run out?"
    last = lines[-1].strip() if lines else f"its process exited with code {code} and no output"
    return last if code == 2 else f"its process crashed: {last}; the full output is in {log}"


def summary(result: Mapping[str, Any]) -> str:
    """Summarise the result of a job."""
    if "bleu" in result:
        return f"BLEU {result['bleu']:.1f}"
    return f"dev loss {result['dev_loss']:.3f}"


def last_record(path: Path) -> dict[str, Any]:
    """Return the last progress record of a metrics.jsonl, with the last dev BLEU; empty before the first.

    A short training may be validated before it reports any progress."""
    records = MetricsFile(path).read()
    found: dict[str, Any] = next((record for record in reversed(records) if "share" in record), {})
    bleu = next((record["dev_bleu"] for record in reversed(records) if "dev_bleu" in record), None)
    return found if bleu is None or not found else {**found, "dev_bleu": bleu}


def _start(described: Path, log: Path, place: Mapping[str, str], *, threads: int) -> "subprocess.Popen[bytes]":
    """Start a job's process, shielded from the terminal's Ctrl-C; it stops when this process does."""
    kept = {name: value for name, value in os.environ.items() if name not in LAUNCHER}
    here = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    own = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": path}
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "dragoman.arena.job", str(described), "--watched"],
            env=kept | own | dict(place),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
