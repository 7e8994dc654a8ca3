"""How many threads of a CPU are worth waking for one step of search."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

SMALL = 50_000_000
"""Multiplications of a step below which waking a second thread for each product costs more than it saves (on two cores: a
sentence alone with a beam of 5 and 7.6 M weights takes 0.75 of the time on one; with 60 M weights greedily, two are faster)."""

_CHANGING = Lock()
"""Held while torch's number of threads, which belongs to the process, is not what its owner set."""


@contextmanager
def fitting_threads(multiplications: int) -> Iterator[None]:
    """Compute on one thread where a step takes so few multiplications, else on as many as torch has now.

    Of several requests at the same time, one alone changes the number; the others compute with what they find, so that it is
    always what it was once all have ended.
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
