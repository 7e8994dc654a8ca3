"""What torch keeps for a whole process: random numbers, and the dtype and device of new tensors."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

CPU = torch.device("cpu")


@contextmanager
def usual_torch(device: torch.device = CPU) -> Iterator[None]:
    """Compute with torch's usual defaults within a `with` block, and restore the caller's defaults and random numbers after it.

    The random numbers are those of the CPU and of `device`.
    """
    dtype = torch.get_default_dtype()
    if dtype != torch.float32:
        torch.set_default_dtype(torch.float32)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), _new_tensors_on_cpu():
            yield
    finally:
        if dtype != torch.float32:
            torch.set_default_dtype(dtype)


@contextmanager
def _new_tensors_on_cpu() -> Iterator[None]:
    """Make tensors on the CPU that are made without a device, as torch does unless it is told otherwise."""
    if torch.get_default_device() == CPU:  # being told so slows down each operation
        yield
        return
    with CPU:
        yield
