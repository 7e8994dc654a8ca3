"""Speed of matrix products on this machine now: measured next to each turn, since it drifts."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

SIZE = 1024
SECONDS = 0.15


def rates() -> dict[str, float]:
    """Return the FLOPs per second of matrix products just now: `float32` and `bfloat16`, with the threads torch has."""
    return {name: _rate(*_pair(name)) for name in ("float32", "bfloat16")}


@contextmanager
def pauses(group: int, every: float) -> Iterator[list[dict[str, float]]]:
    """Hold a group of processes for a moment every so many seconds, and give the rates measured meanwhile."""
    over, found = threading.Event(), list[dict[str, float]]()

    def measure() -> None:
        while not over.wait(every):
            try:
                os.killpg(group, signal.SIGSTOP)
                found.append(rates())
                os.killpg(group, signal.SIGCONT)
            except ProcessLookupError:
                return

    thread = threading.Thread(target=measure, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def _rate(left: Tensor, right: Tensor) -> float:
    """Multiply for a while, at least twice, and return the mean rate: what else the machine does slows steps as it slows this."""
    left @ right
    begin, products = time.perf_counter(), 0
    while (passed := time.perf_counter() - begin) < SECONDS or products < 2:
        left @ right
        products += 1
    return 2 * SIZE**3 * products / passed


@lru_cache
def _pair(name: str) -> tuple[Tensor, Tensor]:
    """Make the factors once."""
    kind = getattr(torch, name)
    return torch.full((SIZE, SIZE), 0.5, dtype=kind), torch.full((SIZE, SIZE), 0.25, dtype=kind)
