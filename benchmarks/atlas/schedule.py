"""Which trainings the atlas needs, which of them are done, and the rest done several at once, each in its own process."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.atlas.agreed import METHOD, ROOT, SHOWN, STOPPED
from benchmarks.atlas.corpora import Corpus
from benchmarks.atlas.kinds import Kind, plan, recipe_of

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One training: a kind on a corpus with a seed. All that its numbers depend on, but the code, is hashed into `key`."""

    kind: str
    corpus: str
    seed: int
    recipe: dict[str, Any] = field(compare=False)
    key: str
    work: Path
    """Folder of all trainings on this corpus."""
    show: bool
    """Whether the pictures of the kind are of this training."""
    earlier: dict[str, Any] | None = field(default=None, compare=False)
    """What the pages say was measured of it, on another day or another machine."""

    @property
    def name(self) -> str:
        """Say which training it is."""
        return f"{self.corpus} {self.kind} {self.seed}"

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.work / f"{self.kind}-{self.seed}-{self.key}"

    def result(self) -> dict[str, Any] | None:
        """Return what was measured, if it was, and as it is measured today."""
        try:
            result = dict(json.loads((self.folder / "result.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            result = self.earlier or {}
        return result if result.get("method") == [METHOD, list(map(list, SHOWN))] else None


def jobs(
    kind: Kind,
    corpus: str,
    slice_: Corpus,
    work: Path,
    *,
    seeds: Sequence[int],
    steps: int | None,
    earlier: Mapping[str, dict[str, Any]] | None = None,
) -> Iterator[Job]:
    """Yield the trainings of a kind on a corpus; `earlier` are results by key, of which no more is left than the pages."""
    for seed in seeds:
        recipe = recipe_of(kind, corpus, slice_.data, seed, steps)
        hashed = {**recipe, "data": slice_.fingerprint}
        key = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]
        show = corpus == "phrasebook" and seed == seeds[0]
        yield Job(kind.name, corpus, seed, recipe, key, work, show=show, earlier=(earlier or {}).get(key))


@dataclass
class Outcome:
    """What came of all jobs."""

    results: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Sentences of the jobs that ended without a result, by kind."""
    stopped: bool = False


def work_through(wanted: Sequence[Job], at_once: int, say: Say) -> Outcome:
    """Do the jobs that have no result yet, `at_once` at a time; Ctrl-C lets those under way save and ends."""
    outcome = Outcome()
    waiting = [job for job in wanted if job.result() is None]
    total, running, begin = len(waiting), dict[Job, "subprocess.Popen[bytes]"](), time.monotonic()
    say(f"{len(wanted) - total} of {len(wanted)} trainings are done; {total} are left.")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                running[job] = _start(job)
            for job in [job for job, process in running.items() if process.poll() is not None]:
                _ended(job, running.pop(job), outcome)
                done = total - len(waiting) - len(running)
                say(
                    f"{done}/{total} after {(time.monotonic() - begin) / 60:.1f} min: {job.name}: {_summary(job, outcome)}"
                )
            time.sleep(0.1)
    except KeyboardInterrupt:
        outcome.stopped = True
        say("Stopping; running trainings are saved.")
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    outcome.results = [result for job in wanted if (result := job.result()) is not None]
    return outcome


def _start(job: Job) -> "subprocess.Popen[bytes]":
    """Start a job with one thread, out of reach of the terminal's Ctrl-C."""
    job.work.mkdir(parents=True, exist_ok=True)
    table = {name: getattr(job, name) for name in ("kind", "corpus", "seed", "key", "recipe", "show")}
    table |= {"folder": str(job.folder), "pairs": str(pairs_file(job.work))}
    described = job.work / f"{job.folder.name}.json"
    described.write_text(json.dumps(table), encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    one_thread = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": path}
    with described.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.atlas.job", str(described)],
            env=os.environ | one_thread,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def pairs_file(work: Path) -> Path:
    """Return where the pairs of a corpus are kept for its jobs."""
    return work / "pairs.json"


def _ended(job: Job, process: "subprocess.Popen[bytes]", outcome: Outcome) -> None:
    """Note why a job has no result."""
    described = job.work / f"{job.folder.name}.json"
    if process.returncode and process.returncode != STOPPED:
        lines = described.with_suffix(".log").read_text(encoding="utf-8", errors="replace").strip().split("\n")
        outcome.refused[job.kind] = lines[-1] or f"ended with {process.returncode}"
    for path in (described, described.with_suffix(".log")):
        path.unlink()


def _summary(job: Job, outcome: Outcome) -> str:
    """Say how a job came out."""
    result = job.result()
    if result is None:
        return outcome.refused.get(job.kind, "stopped")
    error = f", AER {result['aer']:.3f}" if "aer" in result else ""
    return f"BLEU {result['bleu']:.1f}{error}, {result['tokens_per_second']:,.0f} tokens/s, {result['seconds']:.0f} s"


def seeds_of(corpus: str, quick: bool) -> list[int]:
    """Return the seeds of a corpus; one will do for a quick look."""
    seeds = list(plan()["corpora"][corpus]["seeds"])
    return seeds[:1] if quick else seeds
