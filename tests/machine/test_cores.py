"""Threads that share a core are noticed and bound, and only these."""

import os
import threading
from collections.abc import Mapping, Sequence

import pytest

from dragoman.machine import cores
from dragoman.machine.cores import LOOKS, CoreWatch, Task, bind, tasks, usable_cores

needs_linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads are bound on Linux only")


class Machine:
    """Two computing threads and a third that idles; the cores of the two are scripted."""

    def __init__(self, together: float) -> None:
        self.together, self.looks, self.now = together, 0, 0.0
        self.bound: list[Mapping[int, Sequence[int]]] = []
        self.worked = {0: 0, 1: 0, 2: 0, 3: 0}

    def look(self) -> dict[int, Task]:
        self.looks += 1
        other = 0 if self.looks / LOOKS <= self.together else 1
        return {7: Task(10 * self.looks, 0), 8: Task(9 * self.looks, other), 9: Task(self.looks, 0)}

    def busy(self) -> dict[int, int]:
        """The two threads keep core 0 busy, and something else core 2."""
        self.worked = {core: ticks + (core in (0, 2)) for core, ticks in self.worked.items()}
        return dict(self.worked)

    def clock(self) -> float:
        self.now += 1.0
        return self.now


def watch(machine: Machine, monkeypatch: pytest.MonkeyPatch, threads: int = 2, count: int = 4) -> CoreWatch:
    """Watch a machine of four cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(count)), raising=False)
    return CoreWatch(threads, look=machine.look, busy=machine.busy, bind=machine.bound.append, clock=machine.clock)


def test_threads_that_share_a_core_get_one_each_and_are_freed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(together=0.9)
    found = watch(machine, monkeypatch)
    assert [found.step() for _ in range(LOOKS + 5)].index(True) == LOOKS - 1
    assert machine.bound == [{7: [1], 8: [3]}] and machine.looks == LOOKS
    found.close()
    assert machine.bound[1:] == [{7: [0, 1, 2, 3], 8: [0, 1, 2, 3], 9: [0, 1, 2, 3]}]
    found.close()
    assert len(machine.bound) == 2


@pytest.mark.parametrize(("together", "threads", "count"), [(0.5, 2, 4), (1.0, 1, 4), (1.0, 2, 1), (1.0, 4, 4)])
def test_others_are_left_alone(monkeypatch: pytest.MonkeyPatch, together: float, threads: int, count: int) -> None:
    machine = Machine(together)
    found = watch(machine, monkeypatch, threads, count)
    assert not any(found.step() for _ in range(3 * LOOKS))
    found.close()
    assert machine.bound == []


def test_looks_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(together=1.0)
    monkeypatch.setattr(cores, "EVERY", 20.0)
    found = watch(machine, monkeypatch)
    for _ in range(100):
        found.step()
    assert machine.looks <= 12


@needs_linux
def test_threads_of_this_process_are_found_and_bound() -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    stop, started = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (started.set(), stop.wait(60)))
    other.start()
    started.wait(60)
    assert other.native_id is not None
    found = tasks()
    assert {os.getpid(), other.native_id} <= set(found)
    bind({other.native_id: [core], 2**22 + 1: [core]})
    assert os.sched_getaffinity(other.native_id) == {core} and os.sched_getaffinity(0) == before
    bind({other.native_id: sorted(before)})
    assert os.sched_getaffinity(other.native_id) == before
    stop.set()
    other.join()


@needs_linux
def test_the_work_of_each_core_is_counted() -> None:
    before = cores.busy()
    assert set(os.sched_getaffinity(0)) <= set(before)
    while sum(cores.busy().values()) <= sum(before.values()):
        sum(range(100_000))


@needs_linux
def test_a_core_is_where_a_thread_was_bound_to() -> None:
    before = os.sched_getaffinity(0)
    try:
        for core in before:
            bind({os.getpid(): [core]})
            assert sum(range(100_000)) and tasks()[os.getpid()].core == core
    finally:
        bind({os.getpid(): sorted(before)})


def test_only_cores_that_this_process_may_use_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_cores() == 7
