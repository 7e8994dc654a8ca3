"""Processes that train together: what they add up, and that together they compute what one would."""

import multiprocessing
import socket
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

from dragoman import world as module
from dragoman.errors import InputError, TrainingError
from dragoman.world import World

PROCESSES = 2
INPUTS = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
SHARES = (slice(0, 2), slice(2, 6))
"""The two processes read batches of different sizes."""
VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Network(nn.Module):
    """Two layers, a layer that only the second process uses, one that none uses, and a frozen one."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 1)
        self.rare = nn.Linear(4, 1, dtype=torch.float64)
        self.unused = nn.Linear(4, 1)
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.register_buffer("count", torch.tensor([seed]))

    def forward(self, inputs: torch.Tensor, *, rare: bool) -> torch.Tensor:
        """Sum the outputs over the batch."""
        hidden = self.first(self.frozen(inputs)).tanh()
        total = self.second(hidden).pow(2).sum()
        return total + self.rare(hidden.double()).sum() if rare else total


def free_port() -> int:
    """Find a port of this machine that nobody listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def launched(rank: int, size: int = PROCESSES, port: int = 29_500) -> dict[str, str]:
    """Return what torchrun would put into the environment."""
    return dict(zip(VARIABLES, (str(rank), str(rank), str(size), "127.0.0.1", str(port)), strict=True))


def live(rank: int, port: int) -> dict[str, Any]:
    """Join, compute one process's share of everything, and leave."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in launched(rank, port=port).items():
            patch.setenv(name, value)
        patch.setenv("GLOO_SOCKET_IFNAME", next(name for _, name in socket.if_nameindex() if name.startswith("lo")))
        patch.setattr(module, "BUCKET", 10)
        world = World.join("cpu")
        network = world.share(Network(seed=rank))
        weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        network(INPUTS[SHARES[rank]], rare=rank == 1).backward()
        world.synchronise_gradients(network.parameters())
        world.barrier()
        result = {
            "place": (world.rank, world.size, world.is_first),
            "sum": world.sum(1.5 + rank),
            "weights": {name: tensor.tolist() for name, tensor in weights.items()},
            "gradients": gradients_of(network),
        }
        world.leave()
        return result


def gradients_of(network: nn.Module) -> dict[str, list[Any] | None]:
    """Return each parameter's gradient as plain numbers."""
    return {name: p.grad if p.grad is None else p.grad.tolist() for name, p in network.named_parameters()}


@pytest.fixture(scope="module")
def lives() -> Iterator[list[dict[str, Any]]]:
    """Results of two processes that talk over the loopback interface."""
    port = free_port()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(live, rank, port) for rank in range(PROCESSES)]
        yield [future.result(timeout=60) for future in futures]


def test_each_process_knows_its_place(lives):
    assert [life["place"] for life in lives] == [(0, 2, True), (1, 2, False)]


def test_numbers_are_summed_over_processes(lives):
    assert [life["sum"] for life in lives] == [4.0, 4.0]


def test_every_process_starts_with_the_weights_of_the_first(lives):
    first = {name: tensor.tolist() for name, tensor in Network(seed=0).state_dict().items()}
    assert [life["weights"] for life in lives] == [first, first]


def test_gradients_of_two_shares_are_those_of_the_whole(lives):
    network = Network(seed=0)
    (network(INPUTS[SHARES[0]], rare=False) + network(INPUTS[SHARES[1]], rare=True)).backward()
    expected = gradients_of(network)
    assert expected["first.weight"] is not None and expected["rare.weight"] is not None
    for life in lives:
        assert life["gradients"].keys() == expected.keys()
        for name, gradient in expected.items():
            if gradient is None:
                assert life["gradients"][name] is None, name
            else:
                torch.testing.assert_close(torch.tensor(life["gradients"][name]), torch.tensor(gradient))


def test_one_process_needs_no_launcher(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    world = World.join("cpu")
    assert (world.rank, world.size, world.device) == (0, 1, torch.device("cpu"))
    assert not torch.distributed.is_initialized()


def test_one_process_changes_neither_weights_nor_gradients():
    world, network = World(), Network(seed=3)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    assert world.share(network) is network
    network(INPUTS, rare=False).backward()
    gradients = gradients_of(network)
    world.synchronise_gradients(network.parameters())
    world.barrier()
    world.leave()
    assert gradients_of(network) == gradients
    torch.testing.assert_close(dict(network.state_dict()), before, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"LOCAL_RANK": None}, "the environment sets RANK but not LOCAL_RANK; start several processes with torchrun"),
        ({"MASTER_PORT": None}, "the environment sets RANK but not MASTER_PORT"),
        ({"WORLD_SIZE": "two"}, "RANK=0, LOCAL_RANK=0, WORLD_SIZE=two in the environment do not fit together"),
        ({"RANK": "2"}, "RANK=2, LOCAL_RANK=0, WORLD_SIZE=2 in the environment do not fit together; start"),
    ],
)
def test_an_environment_that_makes_no_sense_is_refused(monkeypatch, changes, sentence):
    for name, value in (launched(0) | changes).items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    with pytest.raises(TrainingError, match=f"^{sentence}"):
        World.join("cpu")


def test_processes_that_do_not_find_one_another_get_a_sentence(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for name, value in launched(0, port=port).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(TrainingError, match=f"did not find one another at 127.0.0.1:{port} .*a free port$"):
            World.join("cpu")


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no GPU"):
        World.join("cuda")


def test_more_processes_than_gpus_are_refused(monkeypatch):
    for name, value in launched(1).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(TrainingError, match=r"process 2 .* there are 1; start torchrun with --nproc-per-node=1"):
        World.join()
