"""Choose the number of CPU threads for one step of search."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

SMALL = 50_000_000
"""With fewer multiplications per step, waking a second thread for each product costs more than it saves (on two cores: a
single sentence with a beam of 5 and 7.6 M weights takes 0.75 of the time on one; greedily with 60 M weights, two are
faster)."""

_CHANGING = Lock()
"""Held while torch's number of threads, which belongs to the process, is not what its owner set."""


@contextmanager
def fitting_threads(multiplications: int) -> Iterator[None]:
    """Compute on one thread if a step takes so few multiplications, otherwise on torch's current number.

    Of several concurrent requests, only one changes the number; the others use it as it is, so that it is restored once all
    have ended.
    """
    many = torch.get_num_threads()
    if many == 1 or multiplications >= SMALL or not _CHANGING.acquire(blocking=False):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(many)
        _CHANGING.release()
