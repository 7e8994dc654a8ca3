"""Training by two hosts that see each other over a network: here two network namespaces with a cable between them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tiny import ROOT, dragoman, recipe_file

from dragoman.training.reports import MetricsFile

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and `ip`"),
]
SETTINGS = ("model.dropout=0", "training.precision=float32", "training.average=1", "training.replicas=1")
ADDRESS = "10.77.0.{}"
ENDS = 300
"""Seconds after which a training hangs."""


def call(*command: str) -> None:
    """Run a command of the network."""
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Make two namespaces, each with an end of a cable."""
    names = [f"dragoman-{os.getpid()}-{number}" for number in (1, 2)]
    made: list[str] = []
    try:
        for name in names:
            call("ip", "netns", "add", name)
            made.append(name)
            call("ip", "-n", name, "link", "set", "lo", "up")
        call(
            "ip",
            "link",
            "add",
            "cable1",
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "name",
            "cable2",
            "netns",
            names[1],
        )
        for number, name in enumerate(names, 1):
            call("ip", "-n", name, "addr", "add", f"{ADDRESS.format(number)}/24", "dev", f"cable{number}")
            call("ip", "-n", name, "link", "set", f"cable{number}", "up")
    except subprocess.CalledProcessError as error:
        for name in made:
            call("ip", "netns", "del", name)
        pytest.skip(f"no network namespaces here: {error.stderr.decode()}")
    yield names
    for name in names:
        call("ip", "netns", "del", name)


def losses(run: Path) -> list[float]:
    """Return all losses that a training has recorded."""
    records = MetricsFile(run / "metrics.jsonl").read()
    return [record[name] for record in records for name in ("loss", "dev_loss") if name in record]


def test_two_hosts_have_the_losses_of_one_process(hosts: list[str], tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "transformer", *SETTINGS)
    torchrun = (
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nnodes",
        "2",
        "--nproc-per-node",
        "1",
        "--rdzv-id",
        "a",
    )
    meeting = ("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESS.format(1)}:29500")
    running = []
    for number, host in enumerate(hosts, 1):
        own = ("--rdzv-conf", f"is_host={number == 1}", "--local-addr", ADDRESS.format(number))
        training = ("-m", "dragoman", "train", str(path), "--out", str(tmp_path / "two"))
        environment = os.environ | {"GLOO_SOCKET_IFNAME": f"cable{number}", "PYTHONPATH": str(ROOT / "src")}
        command = ("ip", "netns", "exec", host, *torchrun, *meeting, *own, *training)
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    try:
        errors = [one.communicate(timeout=ENDS)[1].decode() for one in running]
    finally:
        for one in running:
            one.kill()
    assert [one.returncode for one in running] == [0, 0], errors
    assert dragoman("train", path, "--out", tmp_path / "one").code == 0
    assert len(losses(tmp_path / "one")) > 4
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
