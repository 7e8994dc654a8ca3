"""Which device and how many threads to compute with."""

import sys

import torch

from dragoman.errors import InputError


def choose_device(requested: str) -> torch.device:
    """Return the device called `requested`; `auto` takes a GPU where there is one."""
    if requested not in ("auto", "cpu", "cuda"):
        raise InputError(f"there is no device `{requested}`; choose auto, cpu or cuda")
    if requested == "cuda" and not torch.cuda.is_available():
        raise InputError("`cuda` was asked for, but no GPU can be used here; choose `cpu` or `auto`")
    return torch.device("cuda" if requested != "cpu" and torch.cuda.is_available() else "cpu")


def peak_memory(device: torch.device) -> int | None:
    """Return the most bytes taken so far: of a GPU by torch, else of main memory by this process; None where unknown."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
