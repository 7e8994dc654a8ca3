"""Locks on disk: only one process trains into a run folder, and any number of processes share the jobs of an arena.

A lock is a file that says which processes of which machine hold it, and in which folder. It is valid while one of them is
alive, so a killed process leaves nothing to clean up, and not in a copy of that folder.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.atomic import remove_temporary_files, write_text
from dragoman.errors import RunError
from dragoman.json_files import load_json

STALE = 180.0
"""Seconds without a heartbeat after which another machine's lock expires (its clock should be roughly right)."""
REFRESH = 15.0
"""Seconds between heartbeats."""
POLL = 0.5
"""Seconds between looks at a lock that is about to expire."""
LOCK = ".lock"
"""Lock file of a run folder."""
FOLDERS = (".", "training", "checkpoints", "distilled", "mixed")
"""Folders of a run in which a killed process may leave temporary files."""


@contextmanager
def run_lock(folder: Path, *, lost: Callable[[str], object] | None = None) -> Iterator["Claim"]:
    """Prevent other processes from training into the run `folder` within a `with` block.

    The folder is created if missing, and deleted again if nothing was written to it. Temporary files left by a killed
    process are deleted. Raises RunError if another process holds the lock, or the folder cannot be written. With `lost`, a
    holder on another machine is taken to be lost: `lost` is told so, and the lock is taken over once it has expired.
    """
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another folder with --out")
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        mine = _claim_run(folder, lost)
        with _signs_of_life(mine):
            for inner in FOLDERS:
                remove_temporary_files(folder / inner)
            yield mine
    finally:
        with suppress(OSError):  # the first that is not empty, or gone
            for path in missing:
                path.rmdir()


def check_unlocked(folder: Path) -> None:
    """Raise RunError if another process is training into a run folder."""
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
        """Send a heartbeat if it is due; return False if another process has taken over the lock."""
        if not now and time.monotonic() - self.refreshed < REFRESH:
            return True
        if _read(self.path).get("token") != self.token:
            return False
        _write(self.path, self.token, self.pids)
        self.refreshed = time.monotonic()
        return True

    def check(self) -> None:
        """Raise RunError if the folder of the lock is gone, or another process has taken over the lock."""
        folder = self.path.parent
        if not folder.is_dir():
            raise RunError(
                f"{folder} was moved or deleted while this process worked in it; if it was moved, continue with --resume "
                "where it is"
            )
        if _read(self.path).get("token", self.token) != self.token:
            raise RunError(_in_use(folder))

    def add(self, pid: int) -> None:
        """Add the process `pid` to the holders of the lock, which is valid while one of them is alive."""
        self.pids.append(pid)
        self.refresh(now=True)

    def release(self) -> None:
        """Release the lock, unless another process has taken it over."""
        if _read(self.path).get("token") == self.token:
            self.path.unlink(missing_ok=True)


def claim(path: Path) -> Claim | None:
    """Acquire the lock `path` atomically (O_EXCL); return None if another process holds it.

    A lock is stale, and taken over, if its processes on this machine are dead, or if another machine, or container, has sent no
    heartbeat for STALE seconds. Two processes that find the same stale lock take it over one after the other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    token = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}"
    if not _create(path, token):
        takeover = path.with_name(f"{path.name}.takeover")
        _forget(takeover)
        if not stale(path) or not _create(takeover, token):
            return None
        try:
            if not stale(path):
                return None
            _write(path, token, [os.getpid()])
        finally:
            takeover.unlink(missing_ok=True)
    return Claim(path, token, [os.getpid()], time.monotonic())


def held(path: Path) -> bool:
    """Tell whether a live process holds the lock `path`."""
    return path.exists() and not stale(path)


def owned(path: Path) -> bool:
    """Tell whether the process that acquired the lock `path` is alive itself, not only its children, which are about to end."""
    table = _read(path)
    if table and _is_here(table):
        return not _is_copy(path, table) and _lives(table, table["pids"][0])
    return held(path)


def stale(path: Path) -> bool:
    """Tell whether no holder of a lock is alive any more."""
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    table = _read(path)
    if not table:  # another process is writing it now, or died doing so
        return age > REFRESH
    if _is_here(table):
        return _is_copy(path, table) or not any(_lives(table, pid) for pid in table["pids"])
    return time.time() - float(table["time"]) > STALE


def _claim_run(folder: Path, lost: Callable[[str], object] | None) -> Claim:
    """Acquire the lock of a run folder. Raises RunError if another process holds it, or the folder is not writable."""
    until = time.monotonic() + STALE + REFRESH
    while True:
        try:
            mine = claim(folder / LOCK)
        except OSError as error:
            raise RunError(
                f"the run folder {folder} cannot be written ({error.strerror}); choose another with --out"
            ) from None
        if mine is not None:
            return mine
        table = _read(folder / LOCK)
        if lost is None or (table and _is_here(table)) or time.monotonic() > until:
            raise RunError(_in_use(folder))
        if table:
            lost(
                f"Waiting until process {table['pids'][0]} on {table['host']} has given no sign of life for {STALE:.0f} s."
            )
            lost = _ignore
        time.sleep(POLL)


def _ignore(_: str) -> None:
    """Say nothing more."""


@contextmanager
def _signs_of_life(mine: Claim) -> Iterator[None]:
    """Refresh a lock in the background within a `with` block, and release it at the end."""
    ended = threading.Event()

    def refresh() -> None:
        while not ended.wait(REFRESH):
            with suppress(OSError):  # the disk may have space again next time
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
    """Return the error message for a folder into which another process is training."""
    table = _read(folder / LOCK)
    who = f"process {table['pids'][0]} on {table['host']}" if table else "another process"
    killed = f" (if it was killed, or works in another copy of this folder, at most {STALE / 60:.0f} minutes)"
    killed = "" if not table or _is_here(table) else killed
    return f"{folder} is in use: {who} is working in it; wait until it has finished{killed}, or choose another folder with --out"


def _create(path: Path, token: str) -> bool:
    """Create a lock file that must not exist yet."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_text(path, token, [os.getpid()]))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _forget(takeover: Path) -> None:
    """Delete the marker of a takeover whose process was killed before it ended."""
    if stale(takeover):
        takeover.unlink(missing_ok=True)


def _text(path: Path, token: str, pids: list[int]) -> str:
    """Format the holders of a lock."""
    return json.dumps(
        {
            "token": token,
            "host": socket.gethostname(),
            "place": _place(),
            "folder": _folder(path),
            "pids": pids,
            "started": {str(pid): _started(pid) for pid in pids},
            "time": time.time(),
        }
    )


def _write(path: Path, token: str, pids: list[int]) -> None:
    """Write a lock atomically."""
    write_text(path, _text(path, token, pids))


def _read(path: Path) -> dict[str, Any]:
    """Read a lock; empty if it is missing, incomplete, or not what a process writes there."""
    try:
        table = dict(load_json(path))
    except (OSError, ValueError, TypeError):
        return {}
    kinds = {"token": str, "host": str, "pids": list, "time": float | int}
    whole = all(isinstance(table.get(name), kind) for name, kind in kinds.items())
    whole = whole and isinstance(table.get("started", {}), dict) and bool(table["pids"])
    return table if whole and all(type(pid) is int and 0 <= pid < 1 << 31 for pid in table["pids"]) else {}


def _is_here(table: dict[str, Any]) -> bool:
    """Tell whether this process can see those that hold a lock. Another machine or container may have the same name."""
    return bool(table["host"] == socket.gethostname() and table.get("place", _place()) == _place())


def _is_copy(path: Path, table: dict[str, Any]) -> bool:
    """Tell whether a lock came here with a copy of its folder: neither the path nor the number of the folder is the one in it.

    One folder may have two paths, and some file systems number a folder anew; a folder that was moved keeps its number.
    """
    known = table.get("folder")
    return isinstance(known, list) and not any(one in known for one in _folder(path))


def _folder(path: Path) -> list[str]:
    """Return the path of the folder that a lock is in, and the number that the file system gives it."""
    folder = path.parent.resolve()
    return [str(folder), str(folder.stat().st_ino)]


def _place() -> str:
    """Return what tells machines and containers apart, and stays when a machine starts again; empty where there is no /proc."""
    try:
        return f"{_machine()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _machine() -> str:
    """Return the number of this machine, or that of its start where it has none."""
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with suppress(OSError):
            if found := Path(path).read_text(encoding="utf-8").strip():
                return found
    return ""


def _lives(table: dict[str, Any], pid: int) -> bool:
    """Tell whether a process of this machine that holds a lock is still running, and not another one with the same id."""
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
"""Represents the start time of a zombie process."""


def _started(pid: int) -> int | None:
    """Return when a process of this machine started, in ticks since boot; None without the process or /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    return ENDED if fields[0] == "Z" else int(fields[19])
