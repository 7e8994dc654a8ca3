"""Commands on a Ray cluster of this machine, in a process of its own, and the death of its workers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.tiny import ROOT

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason='Ray is not installed (`pip install "dragoman[ray]"`)')
ENDS = 3600
"""Seconds after which a job hangs."""


def start(*arguments: object, folder: Path, program: tuple[str, ...] = ("-m", "dragoman")) -> "subprocess.Popen[str]":
    """Start a command; what Ray notes is in the folder. Its processes may take long to start, and give way to no others."""
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]), "OMP_NUM_THREADS": "1"}
    told = {**own, "RAY_worker_register_timeout_seconds": "1800", "RAY_worker_niceness": "0"}
    command = [sys.executable, *program, *map(str, arguments)]
    with (folder / "errors.txt").open("w") as errors:
        return subprocess.Popen(
            command, cwd=folder, env=os.environ | told, text=True, stdout=subprocess.PIPE, stderr=errors
        )


def ended(job: "subprocess.Popen[str]", folder: Path) -> str:
    """Wait for the end of a command, which must be a good one, and return what it printed."""
    output, _ = job.communicate(timeout=ENDS)
    assert job.returncode == 0, (folder / "errors.txt").read_text()[-5000:]
    return output


def processes(word: str) -> dict[int, int]:
    """Return the processes of this user whose title holds a word, with the time at which each started."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            if word in (place / "cmdline").read_text(errors="replace"):
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    found[int(place.name)] = int(fields[19])
    return found


def kill(pid: int) -> None:
    """Kill a process as a machine would that runs out of memory."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(path: Path, job: "subprocess.Popen[str]") -> None:
    """Wait until there is a file, or a command has ended."""
    while not path.exists() and job.poll() is None:
        time.sleep(0.1)
