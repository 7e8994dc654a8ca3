"""The processes of a Ray cluster, which the extra `ray` brings: how many do a job, and how they are found."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dragoman.errors import DragomanError, InputError

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
}
"""What Ray is told where the user has not: nothing about us is sent away, and processes work in the folder of this one."""


@dataclass(frozen=True)
class Workers:
    """How many processes do a job: as many between `least` and `most` as the cluster has room for."""

    least: int
    most: int

    @classmethod
    def parse(cls, text: str) -> "Workers":
        """Read a number, or two as `--nnodes` of torchrun has them. InputError for anything else.

        >>> Workers.parse("2"), Workers.parse("1:8")
        (Workers(least=2, most=2), Workers(least=1, most=8))
        """
        least, colon, most = text.partition(":")
        try:
            found = cls(int(least), int(most if colon else least))
        except ValueError:
            found = cls(0, 0)
        if not 1 <= found.least <= found.most:
            raise InputError(f"`--ray {text}` is no number of processes; give one such as 2, or a range such as 1:8")
        return found

    @property
    def elastic(self) -> bool:
        """Tell whether the number may change."""
        return self.least < self.most


def check_installed() -> None:
    """Raise InputError if Ray is not installed."""
    if find_spec("ray") is None:
        raise InputError('Ray is not installed; install it with `pip install "dragoman[ray]"`, or leave out `--ray`')


@contextmanager
def cluster(workers: Workers, *, on_gpu: bool = False) -> Iterator[None]:
    """Use a Ray cluster for the time of a block: that of `RAY_ADDRESS`, otherwise one of this machine, which ends with it.

    What Ray and the processes print goes to standard error, as it is no result.
    InputError if Ray is not installed, the cluster cannot be reached, or it has too few CPUs or GPUs.
    """
    check_installed()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    address = os.environ.get("RAY_ADDRESS")
    own = {} if address else {"num_cpus": max(workers.most, os.cpu_count() or 1), "include_dashboard": False}
    try:
        ray.init(address, logging_level="error", logging_config=ray.LoggingConfig(log_level="ERROR"), **own)
    except Exception as error:  # Ray raises plain ones too, as where its processes start too slowly
        first = str(error).strip().split("\n")[0]
        raise InputError(f"no Ray cluster can be used ({first}); check RAY_ADDRESS, or remove it") from None
    with redirect_stdout(sys.stderr):
        try:
            kind = "GPU" if on_gpu else "CPU"
            there = int(ray.cluster_resources().get(kind, 0))
            if there < workers.least:
                raise InputError(
                    f"`--ray` asks for {workers.least} processes with a {kind} each, but the cluster has {there}; ask for fewer"
                )
            yield
        finally:
            ray.shutdown()  # which prints what it has kept back


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a folder for what Ray wants to note of a job, which ends with it; nothing of it is ever in a run folder."""
    with tempfile.TemporaryDirectory(prefix="dragoman-ray-") as place:
        yield Path(place)


def error_named(name: str) -> type[DragomanError]:
    """Return the kind of error that has a name: a worker tells of a mistake of the user by a name and a sentence.

    >>> error_named("CorpusError").__name__
    'CorpusError'
    """
    kinds = [DragomanError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.__name__ == name), DragomanError)
