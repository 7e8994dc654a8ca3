"""The number of CPU threads that torch uses."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

WORTHWHILE = 0.9
"""One thread is chosen if its time is below this share of the time of all threads: noise should not decide."""
HOPELESS = 1.5
"""If one thread takes this many times as long as all threads, it is not tried again."""
ROUNDS = 3
"""How often each number of threads is tried."""


@contextmanager
def threads_restored() -> Iterator[None]:
    """Restore torch's number of threads after a `with` block."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def quickest_thread_count(work: Callable[[], object], *, clock: Callable[[], float] = time.perf_counter) -> int:
    """Return 1 or torch's current number of threads, whichever does `work` in less time."""
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
