"""Several processes that train one model together, as `torchrun` starts them, on one machine or many.

All of them read the same batches in the same order, whatever their number; each computes the gradient of its part of a batch.
Sums of losses, tokens and gradients are taken over all, so every process takes the same step, that of one process up to
rounding. The first process decides what depends on the clock or on dev, and it alone writes.
"""

import json
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as distributed
from torch import nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from dragoman.errors import LostProcessError, TrainingError
from dragoman.interfaces import Batch
from dragoman.json_files import parse_json
from dragoman.machine.processes import is_one_of_several, restarts
from dragoman.training.replicas import parts_of
from dragoman.training.shards import is_divided

PATIENCE = timedelta(hours=12)
"""How long a process waits for the others: the first one may read a corpus or validate in the meantime."""


@dataclass(frozen=True)
class World:
    """The processes of a training, and which of them this is; by default it is alone."""

    rank: int = 0
    size: int = 1
    by_rows: bool = True
    """Whether each process computes some rows of a batch; otherwise it computes whole batches of a step."""
    seed: int = 0

    @property
    def is_first(self) -> bool:
        """Tell whether this process decides and writes."""
        return self.rank == 0

    def share(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return what this process computes of the batches of a step; the shares of all processes are the whole."""
        if self.size == 1:
            return list(batches)
        if not self.by_rows:
            return list(batches[self.rank :: self.size])
        parts = (parts_of(batch, self.size) for batch in batches)
        return [part[self.rank] for part in parts if self.rank < len(part)]

    def turns(self, batches: Sequence[Batch]) -> int:
        """Return how often the process with the largest share of the batches of a step computes a gradient."""
        return len(batches) if self.by_rows else -(-len(batches) // self.size)

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """Return the sum of each number over all processes, which all call this."""
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64)
        with _named():
            distributed.all_reduce(sums)
        return sums.tolist()

    def total(self, number: float) -> float:
        """Return the sum of a number over all processes."""
        return self.sum([number])[0]

    def draw_differently(self, step: int) -> None:
        """Give this process random numbers of its own for a step; the first goes on with those that it saves."""
        if not self.is_first:
            torch.manual_seed(random.Random(f"{self.seed} {step} {self.rank}").getrandbits(63))

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace the gradient of each parameter by its sum over all processes; None stays where no process has any.

        Those of divided parameters are sums already.
        """
        trained = [parameter for parameter in parameters if parameter.requires_grad and not is_divided(parameter)]
        if self.size == 1 or not trained:
            return
        present = torch.tensor([parameter.grad is not None for parameter in trained], dtype=torch.uint8)
        with _named():
            distributed.all_reduce(present, distributed.ReduceOp.MAX)
        reached = [parameter for parameter, there in zip(trained, present.tolist(), strict=True) if there]
        for group in _by_type(reached):
            flat = torch.cat([(one.new_zeros(one.shape) if one.grad is None else one.grad).flatten() for one in group])
            with _named():
                distributed.all_reduce(flat)
            for one, summed in zip(group, flat.split([one.numel() for one in group]), strict=True):
                one.grad = summed.view_as(one)

    def agree(self, value: Any = None) -> Any:
        """Return what the first process gave, which JSON must be able to hold; the others wait for it."""
        if self.size == 1:
            return value
        text = json.dumps(value).encode() if self.is_first else b""
        length = torch.tensor([len(text)])
        with _named():
            distributed.broadcast(length, 0)
            content = (
                torch.frombuffer(bytearray(text), dtype=torch.uint8)
                if text
                else torch.empty(int(length), dtype=torch.uint8)
            )
            distributed.broadcast(content, 0)
        return parse_json(bytes(content.tolist()))

    @contextmanager
    def warned_of_failure(self) -> Iterator[None]:
        """Let the others, which wait in `agree`, get None if a block of the first process fails."""
        try:
            yield
        except BaseException:
            with suppress(TrainingError):  # the others are gone too
                self.agree()
            raise

    def copy_weights(self, model: nn.Module) -> None:
        """Give the model of every process the weights and buffers of the first."""
        if self.size == 1:
            return
        with _named(), torch.no_grad():
            for tensor in (*model.parameters(), *model.buffers()):
                distributed.broadcast(tensor.data, 0)


ALONE = World()
"""One process."""


@contextmanager
def joined(device: torch.device, *, by_rows: bool = True, seed: int = 0) -> Iterator[World]:
    """Meet the other processes for the time of a block; alone where neither torchrun nor Ray started this one.

    On GPUs each process of a machine uses one of its own. LostProcessError where the others cannot be reached.
    """
    if not is_one_of_several():
        yield ALONE
        return
    if distributed.is_initialized():  # by Ray, which has chosen a GPU too
        yield World(distributed.get_rank(), distributed.get_world_size(), by_rows, seed)
        return
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    with _named():
        store, rank, size = next(iter(rendezvous("env://", timeout=PATIENCE)))
        own = PrefixStore(f"attempt {restarts()}", store)  # torchrun may keep what an attempt that failed has stored
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
        distributed.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=PATIENCE)
    try:
        yield World(distributed.get_rank(), distributed.get_world_size(), by_rows, seed)
    finally:
        distributed.destroy_process_group()


def _by_type(parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Group parameters whose gradients can be sent as one."""
    groups: dict[tuple[torch.dtype, torch.device], list[nn.Parameter]] = {}
    for one in parameters:
        groups.setdefault((one.dtype, one.device), []).append(one)
    return list(groups.values())


@contextmanager
def _named() -> Iterator[None]:
    """Make one sentence of what goes wrong between processes."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise _lost(error) from None


@contextmanager
def connection_named() -> Iterator[None]:
    """Make one sentence of what goes wrong between processes while they compute with divided weights."""
    try:
        yield
    except RuntimeError as error:
        if not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
            raise
        raise _lost(error) from None


def _lost(error: Exception) -> LostProcessError:
    """Say that the connection was lost, and what to do."""
    first = str(error).strip().split("\n")[0]
    return LostProcessError(
        f"the connection to the other processes of this training was lost ({first}); see what they say, and start all of "
        "them again with --resume"
    )
