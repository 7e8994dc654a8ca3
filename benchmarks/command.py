"""Dragoman's command line, run from the working tree."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from benchmarks.schedule import ROOT, WAITING


def dragoman(*arguments: str, core: int | None = None, text: str = "", log: Path | None = None) -> str:
    """Run a command with `text` as its standard input, and return its standard output.

    With `core` it is bound to that core, with one thread. With `log` all that it prints is added to that file, not returned.
    """
    environment = {**os.environ, **WAITING, "PYTHONPATH": str(ROOT / "src")}
    bound = [] if core is None else ["taskset", "--cpu-list", str(core)]
    if core is not None:
        environment["OMP_NUM_THREADS"] = "1"
    command = [*bound, sys.executable, "-m", "dragoman", *arguments]
    if log is None:
        return subprocess.run(
            command, input=text, stdout=subprocess.PIPE, env=environment, check=True, text=True
        ).stdout
    with log.open("ab") as output:
        subprocess.run(command, input=text.encode(), stdout=output, stderr=output, env=environment, check=True)
    return ""


def bind_to(core: int) -> None:
    """Bind this process to a core, with one thread: what it computes itself, beside the commands that it runs."""
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)


def set_options(*settings: str) -> Iterator[str]:
    """Yield the options that change settings."""
    for setting in settings:
        yield from ("--set", setting)


def resume_option(folder: Path) -> list[str]:
    """Return the option that resumes what has begun in a folder."""
    return ["--resume"] if folder.exists() else []
