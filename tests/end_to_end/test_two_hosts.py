"""torchrun on two hosts: two network namespaces of this machine, with a cable between them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.processes import run_together
from tests.end_to_end.test_resume import steps, weights
from tests.tiny import ROOT, recipe_file

NAMES = ("dragoman-one", "dragoman-two")
ADDRESSES = ("10.87.65.1", "10.87.65.2")
ENDS = 3600
"""Seconds after which a training hangs."""


def ip(*arguments: str) -> None:
    """Run `ip`, which needs root."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def hosts() -> Iterator[None]:
    """Make both hosts for the time of a block. CalledProcessError without root."""
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", "ends-one", "netns", NAMES[0], "type", "veth", "peer", "name", "ends-two", "netns", NAMES[1])
        for name, cable, address in zip(NAMES, ("ends-one", "ends-two"), ADDRESSES, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", cable)
            ip("-n", name, "link", "set", cable, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


@pytest.fixture
def two_hosts() -> Iterator[None]:
    """Two hosts, or none where this user or machine cannot make them."""
    if shutil.which("ip") is None:
        pytest.skip("`ip` (iproute2) is not installed")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    probe = subprocess.run(["ip", "netns", "add", "dragoman-probe"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"this machine makes no network namespaces ({probe.stderr.strip()})")
    ip("netns", "delete", "dragoman-probe")
    with hosts():
        yield


def launch(host: int, recipe: Path, folder: Path) -> "subprocess.Popen[str]":
    """Start torchrun on one host, as docs/scale.md says."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
    meeting = ["--rdzv-id", "mine", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[0]}:29500"]
    own = ["--local-addr", ADDRESSES[host]]
    inside = ["ip", "netns", "exec", NAMES[host]]
    program = ["-m", "dragoman", "train", str(recipe), "--out", str(folder)]
    cable = ("ends-one", "ends-two")[host]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": cable,
    }
    return subprocess.Popen(
        [*inside, *torchrun, *meeting, *own, *program],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("two_hosts")
def test_two_hosts_train_the_run_of_two_processes_on_one(tmp_path: Path) -> None:
    settings = ("training.steps=20", "training.validate_every=10")
    alone = run_together(2, "tests.end_to_end.processes", str(tmp_path / "one host"), "new", "transformer", *settings)
    assert [one.returncode for one in alone] == [0, 0], alone
    recipe, folder = recipe_file(tmp_path, "transformer", *settings), tmp_path / "two hosts"
    started = [launch(host, recipe, folder) for host in range(2)]
    try:
        found = [one.communicate(timeout=ENDS) for one in started]
    finally:
        for one in started:
            one.kill()
    assert [one.returncode for one in started] == [0, 0], [errors[-3000:] for _, errors in found]
    assert sum(errors.count("Done: 20 steps") for _, errors in found) == 1
    assert (weights(folder), steps(folder)) == (weights(tmp_path / "one host"), steps(tmp_path / "one host"))
