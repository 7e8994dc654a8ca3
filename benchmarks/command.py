"""Dragoman's command line, run from the working tree."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.schedule import ROOT, WAITING


def dragoman(*arguments: str, log: Path | None = None, core: int | None = None, given: Path | None = None) -> str:
    """Run a command, with all threads or bound to a core, and return what it prints; with a log, add it to that file instead.

    `given` is its standard input.
    """
    environment = {**os.environ, **WAITING, "PYTHONPATH": str(ROOT / "src")}
    bound = [] if core is None else ["taskset", "--cpu-list", str(core)]
    if core is not None:
        environment["OMP_NUM_THREADS"] = "1"
    command = [*bound, sys.executable, "-m", "dragoman", *arguments]
    with ExitStack() as files:
        entered = subprocess.DEVNULL if given is None else files.enter_context(given.open("rb"))
        printed = subprocess.PIPE if log is None else files.enter_context(log.open("ab"))
        errors = None if log is None else subprocess.STDOUT
        done = subprocess.run(command, stdin=entered, stdout=printed, stderr=errors, env=environment, check=True)
    return (done.stdout or b"").decode()


def changed(*settings: str) -> Iterator[str]:
    """Yield the options that change settings."""
    for setting in settings:
        yield from ("--set", setting)
