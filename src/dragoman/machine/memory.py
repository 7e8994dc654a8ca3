"""Free memory, so that work which cannot fit is refused before it starts. Imports torch only for a GPU."""

import os
from pathlib import Path

from dragoman.errors import InputError


def free_memory(device: str = "cpu") -> int | None:
    """Return the free memory in bytes of a device, `cpu` or `cuda`; None if unknown."""
    if device == "cuda":
        import torch

        return int(torch.cuda.mem_get_info()[0])
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def require_memory(needed: int, what: str, advice: str, *, device: str = "cpu") -> None:
    """Raise InputError, with `what` and `advice`, for work that needs more than the free memory."""
    free = free_memory(device)
    if free is not None and needed > free:
        raise InputError(f"{what} needs at least {_size(needed)} of memory, but only {_size(free)} is free; {advice}")


def _size(count: int) -> str:
    """Format a number of bytes.

    >>> _size(3_400_000_000)
    '3.4 GB'
    """
    return f"{count / 1e9:,.1f} GB"
