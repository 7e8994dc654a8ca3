"""Trainings by several processes, started as torchrun starts them."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.tiny import recipe

ENDS = 600
"""Seconds after which a training hangs."""


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


def environment(rank: int, size: int, port: int) -> dict[str, str]:
    """Return the environment of one of the processes."""
    own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    return os.environ | {name: str(value) for name, value in own.items()} | {"OMP_NUM_THREADS": "1"}


def run_together(
    size: int, module: str, *arguments: str, path: Path | None = None
) -> list[subprocess.CompletedProcess[str]]:
    """Run a module, which may be in a folder `path`, in so many processes to the end, and return what became of each."""
    program = ["-m", module] if path is None else [str(path / f"{module}.py")]
    command, port = [sys.executable, *program, *arguments], free_port()
    started = [
        subprocess.Popen(
            command, env=environment(rank, size, port), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for rank in range(size)
    ]
    try:
        found = [one.communicate(timeout=ENDS) for one in started]
    finally:
        for one in started:
            one.kill()
    return [
        subprocess.CompletedProcess(command, one.returncode, *texts) for one, texts in zip(started, found, strict=True)
    ]


if __name__ == "__main__":
    from dragoman.jobs.train import fit

    place, resuming, kind, *chosen = sys.argv[1:]
    fit(recipe(kind, *chosen), Path(place), resume=resuming == "resume")
