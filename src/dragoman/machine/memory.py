"""Free memory, so that work which cannot fit is refused before it starts. Imports torch only for a GPU."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dragoman.errors import InputError

OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|out of memory|bad_alloc|STATUS_ALLOC_FAILED|calculation overflowed"
    r"|multiplication overflow"
)
"""Messages of torch and of the libraries of a GPU when memory runs out."""
OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
"""Where Linux names the groups of processes that this one is in, and describes them (cgroups(7)): containers and queues limit
the memory of a group."""
OLD, NEW = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"), ("memory.max", "memory.current", "")
"""Files with the limit and the use of a group, and how lines of its statistics begin, in both versions of groups."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory ran out.

    >>> ran_out_of_memory(MemoryError()), ran_out_of_memory(RuntimeError("CUDA out of memory.")), ran_out_of_memory(ValueError())
    (True, True, False)
    """
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and bool(OUT_OF_MEMORY.search(str(error)))
    )


def free_memory(device: str = "cpu") -> int | None:
    """Return the free memory in bytes of a device, `cpu` or `cuda`, as far as this process may use it; None if unknown."""
    if device == "cuda":
        import torch

        return int(torch.cuda.mem_get_info()[0])
    return min([*_free_here(), *_left_in_groups()], default=None)


def _free_here() -> Iterator[int]:
    """Yield the free memory of this machine, if it is known."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                yield int(value.split()[0]) * 1024
                return
    except (OSError, ValueError, IndexError):
        pass
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _left_in_groups() -> Iterator[int]:
    """Yield what is left to each group of processes that this one is in, if its memory is limited."""
    lines: list[str] = []
    with suppress(OSError, ValueError):
        lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        root, names = (GROUPS / "memory", OLD) if kinds else (GROUPS, NEW)
        own = root / place.strip("/")  # which a container may not see, but only the root
        for group in (one for one in (own, *own.parents) if one.is_relative_to(root)):
            with suppress(OSError, ValueError):  # no such group, or no limit
                limit, used = (int((group / name).read_text(encoding="ascii")) for name in names[:2])
                statistics = (group / "memory.stat").read_text(encoding="ascii")
                cached = re.findall(rf"^{names[2]}(?:in)?active_file (\d+)$", statistics, re.MULTILINE)
                yield max(limit - used + sum(map(int, cached)), 0)


def resident_memory() -> int | None:
    """Return the memory in bytes that this process holds now; None if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_resident_memory() -> int | None:
    """Return the most memory in bytes that this process has held; None if unknown.

    Linux's own figure of the program is read, since `getrusage` there gives that of the program which has started it, if that
    was larger.
    """
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def return_freed_memory() -> None:
    """Return to the system the memory that this process has freed; only the GNU C library on Linux has to be asked.

    It keeps what was freed for what is allocated next, but what trains and what translates need pieces of different sizes: each
    would take new memory beside what the other has left.
    """
    with suppress(AttributeError, OSError, TypeError):  # no such function, or no such library
        ctypes.CDLL(None).malloc_trim(0)


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
