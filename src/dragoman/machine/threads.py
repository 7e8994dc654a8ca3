"""How many threads of a CPU torch computes with."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

WORTHWHILE = 0.9
"""One thread is chosen where its time is below this share of the time of all threads: noise should not decide."""
HOPELESS = 1.5
"""Beyond so many times the time of all threads, one thread is not tried again."""
ROUNDS = 3
"""How often each number of threads is tried."""


@contextmanager
def threads_restored() -> Iterator[None]:
    """Give torch, after a `with`, the number of threads that it had before."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def quickest_thread_count(work: Callable[[], None], *, clock: Callable[[], float] = time.perf_counter) -> int:
    """Return 1 or the number of threads that torch has now, whichever does `work` in less time."""
    many = torch.get_num_threads()
    times: dict[int, list[float]] = {1: [], many: []}
    with threads_restored():
        for _ in range(ROUNDS):
            for threads, taken in times.items():
                torch.set_num_threads(threads)
                begin = clock()
                work()
                taken.append(clock() - begin)
            if min(times[1]) > HOPELESS * min(times[many]):
                break
    return 1 if min(times[1]) < WORTHWHILE * min(times[many]) else many
