"""Trainings in processes of their own that are killed by SIGKILL: at any time, or at one of the operations that save."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.tiny import recipe

SERVER = get_context("forkserver")
"""A process that has imported torch already, from which a training starts in a moment."""
SERVER.set_forkserver_preload(["dragoman.jobs.train", "tests.end_to_end.killed"])
ENDS = 120
"""Seconds after which a process hangs."""


def train(model: str, assignments: tuple[str, ...], folder: Path, die_at: int | None = None) -> None:
    """Train, or go on with what is there; die at an operation of a save, counted from 0."""
    from dragoman.jobs.train import fit

    if die_at is not None:
        _die_at(die_at)
    fit(recipe(model, *assignments), folder, resume=(folder / "manifest.json").exists())


def _die_at(number: int) -> None:
    """Kill this process before or after one of the operations on which the durability of a file depends."""
    left = iter(range(number, -1, -1))

    def dying(operation: Callable[..., Any]) -> Callable[..., Any]:
        def operate(*arguments: Any, **options: Any) -> Any:
            for when in ("before", "after"):
                if next(left) == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                if when == "before":
                    found = operation(*arguments, **options)
            return found

        return operate

    for name in ("replace", "fsync", "unlink"):
        setattr(os, name, dying(getattr(os, name)))
    Path.write_bytes = dying(Path.write_bytes)  # type: ignore[method-assign]
    Path.write_text = dying(Path.write_text)  # type: ignore[method-assign]


@contextmanager
def training(*arguments: Any) -> Iterator[Any]:
    """Run `train` in a process of its own, which does not outlive the block."""
    process = SERVER.Process(target=train, args=arguments)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join(ENDS)


def train_killed(model: str, assignments: tuple[str, ...], folder: Path, *, die_at: int | None, after: float) -> bool:
    """Train and be killed at an operation or after some seconds, unless it ends before; return whether it was."""
    with training(model, assignments, folder, die_at) as process:
        process.join(after if die_at is None else ENDS)
        time.sleep(0)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return bool(process.exitcode)
