"""Under torchrun, a training of which one process is killed at any moment ends by itself, as the unbroken one."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.end_to_end.processes import free_port
from tests.end_to_end.test_resume import steps, weights
from tests.tiny import ROOT, recipe_file

from dragoman.jobs.verify import BAD, verify

SETTINGS = (
    "text.sampling=0.1",
    "training.steps=100",
    "training.validate_every=50",
    "training.tokens_per_step=500",
    "training.batch_tokens=200",
    "training.save_minutes=0.000001",
    "training.ema=0.9",
    "training.average=2",
)
"""Accumulation, subword sampling and averages, with a save after each step."""
ENDS = 3600
"""Seconds after which a training hangs."""


def start(recipe: Path, folder: Path, *, restarts: int) -> "subprocess.Popen[bytes]":
    """Start two processes that train together, under torchrun."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port())]
    command = [*launch, "--max-restarts", str(restarts), "-m", "dragoman", "train", str(recipe), "--out", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def workers(launcher: int) -> list[int]:
    """Return the process ids of the trainings that torchrun has started; a dead one that it has not noticed yet is none."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == launcher and b"dragoman" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return sorted(found)


def kill_one(training: "subprocess.Popen[bytes]", before: set[int], *, after: float, rng: random.Random) -> set[int]:
    """Kill one of two new processes some seconds after both have started; return both, or nothing if the training ended."""
    while len(alive := set(workers(training.pid)) - before) < 2:
        if training.poll() is not None:
            return set()
        time.sleep(0.2)
    with suppress(subprocess.TimeoutExpired):
        training.wait(after)
        return set()
    with suppress(ProcessLookupError):
        os.kill(rng.choice(sorted(alive)), signal.SIGKILL)
    return alive


def kill_again_and_again(kills: int, seed: int, place: Path) -> tuple[int, int]:
    """Kill one process at so many random moments of trainings, none of which is started again by hand.

    Returns the number of trainings and of kills before anything was saved.
    """
    rng, recipe, ended, early = random.Random(seed), recipe_file(place, "transformer", *SETTINGS), 0, 0
    begin = time.monotonic()
    assert start(recipe, place / "whole", restarts=0).wait(ENDS) == 0
    lasts = time.monotonic() - begin
    whole = weights(place / "whole"), steps(place / "whole")
    while kills > 0:
        folder = place / f"killed-{ended}"
        training, seen = start(recipe, folder, restarts=kills), set[int]()
        try:
            while kills > 0 and (killed := kill_one(training, seen, after=rng.uniform(0, lasts), rng=rng)):
                kills, seen = kills - 1, seen | killed
                early += not (folder / "training" / "last.safetensors").exists()
            assert training.wait(ENDS) == 0
        finally:
            training.kill()
        assert (weights(folder), steps(folder)) == whole
        assert not [one for one in verify(folder) if one.state in BAD]
        ended += 1
    return ended, early


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc, which is not here")
def test_a_training_of_which_one_process_is_killed_at_random_moments_ends_as_the_unbroken_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, early = kill_again_and_again(20, 7, tmp_path)
    with capsys.disabled():
        print(f"\n20 kills, {early} of them before the first save; {ended} trainings came to their end")
