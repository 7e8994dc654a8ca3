"""What all tests share: checked shapes, settings of hypothesis, and runs that are trained once.

Every module with shapes in its signatures is imported with beartype's checks, so nothing of Dragoman is imported above them.
Other modules go without: mypy knows their types, and the checks would double the time of all tests. Examples that hypothesis
finds are the same in every run, on slow machines too.
"""

import fcntl
import gc
import hashlib
import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from tests.shapes import begin, check_shapes

check_shapes()

# Tests send signals to their own process, so these must do what they do in a terminal: a shell lets jobs in the background
# ignore Ctrl-C, nohup ignores SIGHUP, and coverage handles SIGTERM.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("dragoman", deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", deadline=None, database=None, max_examples=2000)
settings.load_profile("dragoman")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the thousands of tests that were found: it would look at all of them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _check_shapes(request: pytest.FixtureRequest) -> None:
    """Check each shape once in every file of tests, but in those of whole programs."""
    begin(request.path.relative_to(Path(__file__).parent.parent).parts[1])


@pytest.fixture(scope="module")
def few_objects() -> None:
    """Let the garbage collector pass over what earlier tests left: tests that call it often would wait for seconds each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _trust_the_machine() -> Iterator[None]:
    """Do not wait until the disk has what a test has written; a power cut may cost it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that trains a tiny model (see tests/tiny.py), once for the same arguments, and gives its run.

    The processes of pytest-xdist share the runs.
    """
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "runs"
    shared.mkdir(exist_ok=True)

    @cache
    def train(model: str, *assignments: str) -> Path:
        name = f"{model}-{hashlib.sha256(repr(assignments).encode()).hexdigest()[:12]}"
        with (shared / f"{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / f"{name}.done").exists():
                from tests.tiny import recipe

                from dragoman.jobs.train import fit

                fit(recipe(model, *assignments), shared / name)
                (shared / f"{name}.done").touch()
        return shared / name

    return train
