"""What all tests share: settings of hypothesis, and runs that are trained once.

Examples that hypothesis finds are the same in every run, on slow machines too.
"""

import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from tests.tiny import Trained, recipe

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a shell put into the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dragoman", deadline=None, derandomize=True, database=None)
settings.load_profile("dragoman")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Return a function that trains a tiny model (see tests/tiny.py), once for the same arguments, and gives its run."""
    folder = tmp_path_factory.mktemp("runs")

    @cache
    def train(model: str, *assignments: str) -> Path:
        from dragoman.jobs.train import fit

        run = folder / f"{model}-{len(list(folder.iterdir()))}"
        fit(recipe(model, *assignments), run)
        return run

    return train
