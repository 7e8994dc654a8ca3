"""Which process does which job: a lock file each, so that any number of processes on one folder share the work."""

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text

STALE = 180.0
"""Seconds without a sign of life after which a lock of another machine no longer counts (its clock should be about right)."""
REFRESH = 15.0
"""Seconds between signs of life."""


@dataclass
class Claim:
    """A lock that this process holds."""

    path: Path
    token: str
    pids: list[int]
    refreshed: float = 0.0

    def refresh(self, *, now: bool = False) -> bool:
        """Give a sign of life where it is time for one; False where another process has taken the lock over."""
        if not now and time.monotonic() - self.refreshed < REFRESH:
            return True
        if _read(self.path).get("token") != self.token:
            return False
        _write(self.path, self.token, self.pids)
        self.refreshed = time.monotonic()
        return True

    def add(self, pid: int) -> None:
        """Say that the process `pid` works for the lock, which then counts while it lives."""
        self.pids.append(pid)
        self.refresh(now=True)

    def release(self) -> None:
        """Give the lock back, unless another process has taken it over."""
        if _read(self.path).get("token") == self.token:
            self.path.unlink(missing_ok=True)


def claim(path: Path) -> Claim | None:
    """Take the lock `path`, made so that one process alone can (O_EXCL); None where another one holds it.

    A lock is stale, and taken over, where its processes are dead on this machine, or where another machine has given no sign
    of life for STALE seconds. Two processes that find the same stale lock take it over one after the other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    token = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}"
    if not _create(path, token):
        takeover = path.with_name(f"{path.name}.takeover")
        if not stale(path) or not _create(takeover, token):
            _forget(takeover)
            return None
        try:
            if not stale(path):
                return None
            _write(path, token, [os.getpid()])
        finally:
            takeover.unlink(missing_ok=True)
    return Claim(path, token, [os.getpid()], time.monotonic())


def held(path: Path) -> bool:
    """Tell whether a living process holds the lock `path`."""
    return path.exists() and not stale(path)


def owned(path: Path) -> bool:
    """Tell whether the process that took the lock `path` lives itself, and not only what it began, which is about to end."""
    table = _read(path)
    if table and table["host"] == socket.gethostname():
        return _lives(table["pids"][0])
    return held(path)


def stale(path: Path) -> bool:
    """Tell whether nobody works behind a lock any more."""
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    table = _read(path)
    if not table:  # another process is writing it just now, or died while it did
        return age > REFRESH
    if table["host"] == socket.gethostname():
        return not any(_lives(pid) for pid in table["pids"])
    return time.time() - float(table["time"]) > STALE


def _create(path: Path, token: str) -> bool:
    """Make a lock file that must not be there yet."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_text(token, [os.getpid()]))
    return True


def _forget(takeover: Path) -> None:
    """Delete the mark of a taking-over that never came to its end."""
    try:
        if time.time() - takeover.stat().st_mtime > STALE:
            takeover.unlink()
    except FileNotFoundError:
        pass


def _text(token: str, pids: list[int]) -> str:
    """Write who holds a lock."""
    return json.dumps({"token": token, "host": socket.gethostname(), "pids": pids, "time": time.time()})


def _write(path: Path, token: str, pids: list[int]) -> None:
    """Write a lock whole."""
    write_text(path, _text(token, pids))


def _read(path: Path) -> dict[str, Any]:
    """Read a lock; empty where there is none, or a half-written one."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _lives(pid: int) -> bool:
    """Tell whether a process of this machine is there, and is no dead one that nobody asked for its exit code."""
    with suppress(OSError):  # where there is no /proc
        if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
