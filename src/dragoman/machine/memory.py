"""How much memory there is for a model."""

from pathlib import Path

import torch

MEMINFO = Path("/proc/meminfo")
"""Where Linux says how much memory is free."""


def available_memory(device: torch.device) -> int | None:
    """Return how many bytes can still be taken on `device`, swap included on a CPU; None where nothing says it."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free)
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
        kibibytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return 1024 * (kibibytes["MemAvailable"] + kibibytes.get("SwapFree", 0))
    except (OSError, ValueError, KeyError, IndexError):
        return None
