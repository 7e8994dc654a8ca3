"""Dragoman's command line, run from the working tree."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.schedule import ROOT, WAITING


def dragoman(*arguments: str, log: Path | None = None, core: int | None = None) -> str:
    """Run a command, with all threads or bound to a core, and return what it prints; with a log, add it to that file instead."""
    environment = {**os.environ, **WAITING, "PYTHONPATH": str(ROOT / "src")}
    bound = [] if core is None else ["taskset", "--cpu-list", str(core)]
    if core is not None:
        environment["OMP_NUM_THREADS"] = "1"
    command = [*bound, sys.executable, "-m", "dragoman", *arguments]
    if log is None:
        return subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True, text=True).stdout
    with log.open("ab") as output:
        subprocess.run(command, stdout=output, stderr=output, env=environment, check=True)
    return ""


def changed(*settings: str) -> Iterator[str]:
    """Yield the options that change settings."""
    for setting in settings:
        yield from ("--set", setting)
