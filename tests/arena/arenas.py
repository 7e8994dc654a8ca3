"""Tiny arenas, and their work done without other processes."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.tiny import RECIPE, RNN, TRANSFORMER

from dragoman.arena.folder import Folder
from dragoman.arena.job import run
from dragoman.arena.plan import make_plan
from dragoman.arena.schedule import Worker
from dragoman.arena.settings import ArenaSettings
from dragoman.settings import merge, override, parse

BASE = {
    **merge(RECIPE, {"data": {"test": [{"phrasebook": "test", "pairs": 12}]}}),
    "decoding": {"beam": 2, "minimum_length": 2, "maximum_extra": 5},
}
ARENA: dict[str, Any] = {
    "about": "Two tiny models, and both together.",
    "base": BASE,
    "systems": {
        "rnn": {"set": {"model": RNN}},
        "transformer": {"set": {"model": TRANSFORMER}},
        "both": {"ensemble": ["rnn", "transformer"]},
    },
    "seeds": [1, 2],
    "budget": {"tokens": 1500},
    "samples": 2,
}
BROKEN = {"set": {"model": {**TRANSFORMER, "positions": "learned", "max_positions": 3}}}
"""A system that fails when it meets the corpus."""


class Quiet:
    """Hears all and keeps the sentences."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        """Keep a sentence."""
        self.sentences.append(sentence)

    def progress(self, running: Callable[[], Mapping[str, Mapping[str, Any]]], *, done: int, total: int) -> None:
        """Look at what runs."""
        running()


def arena(*assignments: str, table: Mapping[str, Any] = ARENA) -> ArenaSettings:
    """Return a tiny arena with `a.b=value` laid over it."""
    return parse(ArenaSettings, override(dict(table), assignments), where="the arena")


def arena_file(folder: Path, *assignments: str, table: Mapping[str, Any] = ARENA) -> Path:
    """Write a tiny arena into `folder`."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(override(dict(table), assignments), sort_keys=False), encoding="utf-8")
    return path


def worker_of(settings: ArenaSettings, path: Path) -> Worker:
    """Return a worker on an arena in a folder."""
    plan = make_plan(settings)
    folder = Folder(path)
    folder.prepare(plan.jobs)
    return Worker(plan, folder, Quiet())


def do_all(worker: Worker, names: Sequence[str] | None = None) -> None:
    """Do the jobs of these names, or all, in this process and in order."""
    for job in worker.jobs:
        if names is None or job.name in names:
            described = worker.describe(job)
            assert run(json.loads(described.read_text(encoding="utf-8"))) == 0
