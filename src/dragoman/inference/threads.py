"""Choose the number of CPU threads for one step of search."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Thread, local

import torch

SMALL = 50_000_000
"""With fewer multiplications per step, waking a second thread for each product costs more than it saves (on two cores: a
single sentence with a beam of 5 and 7.6 M weights takes 0.75 of the time on one; greedily with 60 M weights, two are
faster)."""

_CHANGING = Lock()
"""Held while a request has changed torch's number of threads. Each thread of Python has its own, but begins with that which
was set last, by whichever of them."""
_CHECKED = local()
"""Whether this thread of Python did not begin with a number that a request had changed."""


@contextmanager
def fitting_threads(multiplications: int) -> Iterator[None]:
    """Compute on one thread if a step takes so few multiplications, otherwise on torch's current number.

    Of several concurrent requests, only one changes the number; the others use it as it is, so that it is restored once all
    have ended.
    """
    if not _CHANGING.acquire(blocking=False):
        yield
        return
    many = _own_number()
    if many == 1 or multiplications >= SMALL:
        _CHANGING.release()
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(many)
        _CHANGING.release()


def _own_number() -> int:
    """Return torch's number of threads while no request has changed it; one that has begun with a changed number corrects it."""
    number = torch.get_num_threads()
    if number == 1 and not getattr(_CHECKED, "done", False):
        usual: list[int] = []
        new = Thread(target=lambda: usual.append(torch.get_num_threads()))
        new.start()
        new.join()
        if usual[0] > 1:
            torch.set_num_threads(number := usual[0])
    _CHECKED.done = True
    return number
