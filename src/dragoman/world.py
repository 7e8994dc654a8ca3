"""The processes that train together, one on each device; a single process unless torchrun started more.

Every process reads its own share of the batches. Gradients are summed, never averaged: divide a loss by the tokens of
all processes before it is differentiated, and the sum is the gradient of one big batch.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
import torch.distributed as distributed
from torch import Tensor, nn

from dragoman.devices import choose_device
from dragoman.errors import TrainingError

Model = TypeVar("Model", bound=nn.Module)

BUCKET = 1 << 23
"""Elements that travel together; fewer, larger messages cost less than one for each parameter."""


@dataclass(frozen=True)
class World:
    """This process's place among those that train together.

    >>> world = World()
    >>> world.is_first, world.size, world.sum(2.5)
    (True, 1, 2.5)
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @classmethod
    def join(cls, device: str = "auto") -> "World":
        """Take the place that torchrun's environment gives: RANK, LOCAL_RANK, WORLD_SIZE; without them, be alone.

        `device` is auto, cpu or cuda, as in `choose_device`. Processes talk through NCCL on GPUs, through Gloo on CPUs.
        TrainingError where the environment is incomplete, the processes do not find one another, or one has no GPU of
        its own.
        """
        rank, local_rank, size = _place(os.environ)
        chosen = _device(device, local_rank)
        if chosen.type == "cuda":
            torch.cuda.set_device(chosen)
        if size > 1:
            _connect(chosen)
        return cls(rank, size, chosen)

    @property
    def is_first(self) -> bool:
        """True in the one process that saves and reports."""
        return self.rank == 0

    def share(self, model: Model) -> Model:
        """Move `model` to this process's device, give it the first process's weights and buffers, and return it."""
        model.to(self.device)
        if self.size > 1:
            for tensor in model.state_dict().values():
                distributed.broadcast(tensor, 0)
        return model

    def synchronise_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum each gradient over all processes, in place; every process passes the same parameters in the same order.

        A gradient that only some processes have counts as zero elsewhere; one that none has stays None.
        """
        if self.size == 1:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        present = torch.tensor([parameter.grad is not None for parameter in trained], dtype=torch.int32)
        present = present.to(self.device)
        distributed.all_reduce(present, op=distributed.ReduceOp.MAX)
        gradients = [_gradient(parameter) for parameter, here in zip(trained, present.tolist(), strict=True) if here]
        for bucket in _buckets(gradients):
            together = torch.cat([gradient.reshape(-1) for gradient in bucket])
            distributed.all_reduce(together)
            parts = together.split([gradient.numel() for gradient in bucket])
            for gradient, part in zip(bucket, parts, strict=True):
                gradient.copy_(part.view_as(gradient))

    def sum(self, value: float) -> float:
        """Add up `value` over all processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return float(total)

    def barrier(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            distributed.barrier(device_ids=None if self.device.type == "cpu" else [self.device.index])

    def leave(self) -> None:
        """Part from the other processes; after it, this world must not be used."""
        if self.size > 1:
            distributed.destroy_process_group()


def _place(environment: Mapping[str, str]) -> tuple[int, int, int]:
    """Read rank, rank on this machine, and number of processes."""
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
    given = {name: environment[name] for name in names if name in environment}
    if not given:
        return 0, 0, 1
    missing = [name for name in (*names, "MASTER_ADDR", "MASTER_PORT") if name not in environment]
    if missing:
        raise TrainingError(
            f"the environment sets {next(iter(given))} but not {missing[0]}; start several processes with torchrun, "
            f"or unset {', '.join(given)} to train in one"
        )
    try:
        rank, local_rank, size = (int(given[name]) for name in names)
        fits = 0 <= local_rank <= rank < size
    except ValueError:
        fits = False
    if not fits:
        place = ", ".join(f"{name}={value}" for name, value in given.items())
        raise TrainingError(f"{place} in the environment do not fit together; start several processes with torchrun")
    return rank, local_rank, size


def _device(wish: str, local_rank: int) -> torch.device:
    """Choose the device of the process that is number `local_rank` on this machine."""
    device = choose_device(wish)
    if device.type == "cpu":
        return device
    gpus = torch.cuda.device_count()
    if local_rank >= gpus:
        raise TrainingError(
            f"process {local_rank + 1} of this machine has no GPU of its own, for there are {gpus}; "
            f"start torchrun with --nproc-per-node={gpus}, or choose the device `cpu`"
        )
    return torch.device("cuda", local_rank)


def _connect(device: torch.device) -> None:
    """Meet the other processes at the address in the environment."""
    try:
        if device.type == "cuda":
            distributed.init_process_group("nccl", device_id=device)
        else:
            distributed.init_process_group("gloo")
    except (RuntimeError, ValueError) as error:
        address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        reason = str(error).strip().partition("\n")[0]
        raise TrainingError(
            f"the processes did not find one another at {address} ({reason}); "
            "check that torchrun names a reachable machine and a free port"
        ) from error


def _gradient(parameter: nn.Parameter) -> Tensor:
    """Return the gradient, made of zeros where this process has none."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Group neighbours, up to BUCKET elements a group; a larger tensor travels alone."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        if bucket and sum(other.numel() for other in bucket) + tensor.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket
