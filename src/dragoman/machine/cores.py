"""The cores that are there; notice computing threads that share one while others are free, and bind each to its own.

Where other work runs, a scheduler may leave both threads of a training on one core for hours, at half the speed. Linux only:
elsewhere nothing is noticed and nothing is bound.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TASKS = Path("/proc/self/task")
"""Where Linux describes the threads of this process."""
LOAD = Path("/proc/stat")
"""Where it says how long each core has worked."""
EVERY = 0.2
"""Seconds between two looks."""
LOOKS = 50
"""Looks before a decision: ten seconds."""
SHARING = 0.75
"""Share of the looks in which threads were on one core that calls for binding; by chance, two busy cores give a half."""


@dataclass(frozen=True)
class Task:
    """A thread of this process."""

    ticks: int
    """Processor time it has used."""
    core: int
    """Core on which it ran last."""


def usable_cores() -> int:
    """Count the cores that this process may use: a container or a queue may give it some of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tasks() -> dict[int, Task]:
    """Return the threads of this process by their ids; empty if the system does not tell."""
    found = {}
    with suppress(OSError):
        for entry in os.listdir(TASKS):
            with suppress(OSError):  # a thread that has just ended
                # The name, in brackets, may contain spaces; after it, fields are numbered from 3 (proc_pid_stat(5)).
                fields = (TASKS / entry / "stat").read_text().rpartition(")")[2].split()
                found[int(entry)] = Task(int(fields[11]) + int(fields[12]), int(fields[36]))
    return found


def busy() -> dict[int, int]:
    """Return how long each core has worked so far, in ticks; empty if the system does not tell."""
    found = {}
    with suppress(OSError):
        for line in LOAD.read_text().splitlines():
            name, *fields = line.split() or [""]
            if name.startswith("cpu") and name[3:].isdigit():  # user, nice, system, idle, waiting, ... (proc_stat(5))
                ticks = [int(field) for field in fields[:8]]
                found[int(name[3:])] = sum(ticks) - sum(ticks[3:5])
    return found


def bind(cores: Mapping[int, Sequence[int]]) -> None:
    """Let each thread, given by its id, run on these cores only. Threads that have ended are passed over."""
    for thread, allowed in cores.items():
        with suppress(OSError):
            os.sched_setaffinity(thread, allowed)


class CoreWatch:
    """Looks from time to time where the computing threads run; binds them if they share a core."""

    def __init__(
        self,
        threads: int,
        *,
        look: Callable[[], Mapping[int, Task]] = tasks,
        busy: Callable[[], Mapping[int, int]] = busy,
        bind: Callable[[Mapping[int, Sequence[int]]], None] = bind,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.threads = threads
        self.bound = False
        self._look, self._busy, self._bind, self._clock = look, busy, bind, clock
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._seen: list[Mapping[int, Task]] = []
        self._worked: Mapping[int, int] = {}
        self._next = clock()

    def step(self) -> bool:
        """Look if it is time to; return whether threads were bound just now."""
        if self.bound or not 1 < self.threads <= len(self._cores) or self._clock() < self._next:
            return False
        self._next = self._clock() + EVERY
        if not self._seen:
            self._worked = self._busy()
        self._seen.append(self._look())
        if len(self._seen) < LOOKS:
            return False
        busiest, seen = self._busiest(), self._seen
        self._seen = []
        if len(busiest) < self.threads or sharing(seen, busiest) < SHARING:
            return False
        self._bind({thread: [core] for thread, core in zip(busiest, self._idlest(), strict=True)})
        self.bound = True
        return True

    def close(self) -> None:
        """Let every thread run on all cores again."""
        if self.bound:
            self._bind({thread: self._cores for thread in self._look()})
            self.bound = False

    def _idlest(self) -> list[int]:
        """Return the cores that worked least since the first look, as many as there are threads."""
        now, before = self._busy(), self._worked
        worked = {core: now.get(core, 0) - before.get(core, 0) for core in self._cores}
        return sorted(sorted(self._cores, key=lambda core: worked[core])[: self.threads])

    def _busiest(self) -> list[int]:
        """Return the threads that used most processor time since the first look, as many as compute."""
        first, last = self._seen[0], self._seen[-1]
        used = {thread: task.ticks - first[thread].ticks for thread, task in last.items() if thread in first}
        return sorted(sorted(used, key=lambda thread: used[thread], reverse=True)[: self.threads])


def sharing(seen: Sequence[Mapping[int, Task]], threads: Sequence[int]) -> float:
    """Return the share of the looks in which two of the threads were on one core.

    >>> sharing([{1: Task(0, 0), 2: Task(0, 0)}, {1: Task(0, 0), 2: Task(0, 1)}], [1, 2])
    0.5
    """
    counted = [{look[thread].core for thread in threads if thread in look} for look in seen]
    return sum(len(cores) < len(threads) for cores in counted) / max(len(seen), 1)
