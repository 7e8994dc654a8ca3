"""Choose the device to compute on."""

import torch

from dragoman.errors import InputError
from dragoman.machine.memory import peak_resident_memory


def choose_device(requested: str) -> torch.device:
    """Return the device called `requested`; `auto` is a GPU if there is one."""
    if requested not in ("auto", "cpu", "cuda"):
        raise InputError(f"unknown device `{requested}`; choose auto, cpu or cuda")
    if requested == "cuda" and not torch.cuda.is_available():
        raise InputError("`cuda` was requested, but no GPU is available; choose `cpu` or `auto`")
    return torch.device("cuda" if requested != "cpu" and torch.cuda.is_available() else "cpu")


def peak_memory(device: torch.device) -> int | None:
    """Return the peak memory in bytes: of torch on a GPU, otherwise of this process; None if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return peak_resident_memory()
