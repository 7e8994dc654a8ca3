"""What torch keeps for a whole process or thread: random numbers, dtype and device of new tensors, gradients, autocast."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

CPU = torch.device("cpu")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Compute without the caller's autocast within a `with` block, and make new tensors on the CPU whatever the caller says."""
    with _no_autocast("cpu"), _no_autocast("cuda"), _new_tensors_on_cpu():
        yield


@contextmanager
def usual_torch() -> Iterator[None]:
    """Compute with torch's usual defaults within a `with` block, and restore those of the caller after it.

    These are float32 on the CPU for new tensors, gradients, and no autocast.
    """
    dtype = torch.get_default_dtype()
    if dtype != torch.float32:
        torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), undisturbed():
            yield
    finally:
        if dtype != torch.float32:
            torch.set_default_dtype(dtype)


@contextmanager
def random_numbers_restored(device: torch.device = CPU) -> Iterator[None]:
    """Restore the caller's random numbers, those of the CPU and of `device`, after a `with` block."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def _no_autocast(device: str) -> AbstractContextManager[object]:
    """Turn autocast off if it is on; an autocast within another one, even one that is off, keeps rounded weights too long."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


@contextmanager
def _new_tensors_on_cpu() -> Iterator[None]:
    """Make tensors on the CPU that are made without a device, as torch does unless it is told otherwise."""
    if torch.get_default_device() == CPU:  # being told so slows down each operation
        yield
        return
    with CPU:
        yield
