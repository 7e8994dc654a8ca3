"""Locks on disk: one process alone trains into a run folder, and any number of processes share the jobs of an arena.

A lock is a file that says which processes of which machine hold it. It counts while one of them lives, so a process that was
killed leaves nothing to clear away.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.atomic import remove_temporary_files, write_text
from dragoman.errors import RunError

STALE = 180.0
"""Seconds without a sign of life after which a lock of another machine no longer counts (its clock should be about right)."""
REFRESH = 15.0
"""Seconds between signs of life."""
LOCK = ".lock"
"""File of a run folder that says which process trains into it."""
FOLDERS = (".", "training", "checkpoints")
"""Folders of a run in which a killed process may leave temporary files."""


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Keep every other process from training into the run `folder` for the time of a `with`.

    The folder is made where there is none, and deleted again where nothing was written to it. Temporary files that a killed
    process left in it are deleted. Raises RunError if another process holds the lock, or the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another folder with --out")
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with _signs_of_life(_claim_run(folder)):
            for inner in FOLDERS:
                remove_temporary_files(folder / inner)
            yield
    finally:
        with suppress(OSError):  # the first that is not empty, or gone
            for path in missing:
                path.rmdir()


def check_unlocked(folder: Path) -> None:
    """Refuse (RunError) a run folder into which another process is training."""
    if held(folder / LOCK):
        raise RunError(_in_use(folder))


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
    """Take the lock `path`, made so that one process alone can (O_EXCL); None if another one holds it.

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
    """Return whether a living process holds the lock `path`."""
    return path.exists() and not stale(path)


def owned(path: Path) -> bool:
    """Return whether the process that took the lock `path` lives itself, and not only what it began, which is about to end."""
    table = _read(path)
    if table and table["host"] == socket.gethostname():
        return _lives(table, table["pids"][0])
    return held(path)


def stale(path: Path) -> bool:
    """Return whether nobody works behind a lock any more."""
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    table = _read(path)
    if not table:  # another process is writing it just now, or died while it did
        return age > REFRESH
    if table["host"] == socket.gethostname():
        return not any(_lives(table, pid) for pid in table["pids"])
    return time.time() - float(table["time"]) > STALE


def _claim_run(folder: Path) -> Claim:
    """Take the lock of a run folder. Raises RunError if another process holds it, or the folder cannot be written."""
    try:
        mine = claim(folder / LOCK)
    except OSError as error:
        raise RunError(
            f"the run folder {folder} cannot be written ({error.strerror}); choose another with --out"
        ) from None
    if mine is None:
        raise RunError(_in_use(folder))
    return mine


@contextmanager
def _signs_of_life(mine: Claim) -> Iterator[None]:
    """Refresh a lock in the background for the time of a `with`, and give it back at its end."""
    ended = threading.Event()

    def refresh() -> None:
        while not ended.wait(REFRESH):
            with suppress(OSError):  # a disk that is full now may have room the next time
                mine.refresh(now=True)

    background = threading.Thread(target=refresh, daemon=True)
    background.start()
    try:
        yield
    finally:
        ended.set()
        background.join()
        with suppress(OSError):
            mine.release()


def _in_use(folder: Path) -> str:
    """Return the sentence that refuses a folder into which another process is training."""
    table = _read(folder / LOCK)
    who = f"process {table['pids'][0]} on {table['host']}" if table else "another process"
    return f"{folder} is in use: {who} is training into it; wait until it ends, or choose another folder with --out"


def _create(path: Path, token: str) -> bool:
    """Make a lock file that must not be there yet."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_text(token, [os.getpid()]))
    except OSError:
        path.unlink(missing_ok=True)
        raise
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
    started = {str(pid): _started(pid) for pid in pids}
    return json.dumps(
        {"token": token, "host": socket.gethostname(), "pids": pids, "started": started, "time": time.time()}
    )


def _write(path: Path, token: str, pids: list[int]) -> None:
    """Write a lock whole."""
    write_text(path, _text(token, pids))


def _read(path: Path) -> dict[str, Any]:
    """Read a lock; empty if there is none, or a half-written one."""
    try:
        table = dict(json.loads(path.read_text(encoding="utf-8")))
        return table if {"token", "host", "pids", "time"} <= set(table) else {}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _lives(table: dict[str, Any], pid: int) -> bool:
    """Return whether a process of this machine that holds a lock still runs, and is not another one of the same number."""
    started = _started(pid)
    known = table.get("started", {}).get(str(pid))
    if started is not None and known is not None:
        return bool(started == known)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return started != ENDED


ENDED = -1
"""What stands for the start of a process that has ended, and that its parent has not yet asked for its exit code."""


def _started(pid: int) -> int | None:
    """Return when a process of this machine began, in ticks since the system did; None if there is none, or no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    return ENDED if fields[0] == "Z" else int(fields[19])
