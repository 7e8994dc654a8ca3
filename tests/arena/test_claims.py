"""Locks: one process alone holds each; what the dead held is taken over."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.arena import claims
from dragoman.arena.claims import claim, held, stale


def foreign(path: Path, *, host: str, age: float, pids: tuple[int, ...] = ()) -> None:
    """Write the lock of another process."""
    table = {"token": "other", "host": host, "pids": list(pids), "time": time.time() - age}
    path.write_text(json.dumps(table), encoding="utf-8")


def dead() -> int:
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_is_held_by_one_alone_until_it_is_given_back(tmp_path: Path):
    mine = claim(tmp_path / "a" / "lock")
    assert mine is not None and held(mine.path)
    assert claim(mine.path) is None
    mine.release()
    assert not held(mine.path) and claim(mine.path) is not None


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path):
    foreign(tmp_path / "lock", host=socket.gethostname(), age=0, pids=(dead(),))
    assert stale(tmp_path / "lock")
    mine = claim(tmp_path / "lock")
    assert mine is not None and not stale(mine.path) and mine.refresh(now=True)


def test_a_lock_counts_while_one_of_its_processes_lives(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        foreign(tmp_path / "lock", host=socket.gethostname(), age=10**6, pids=(dead(), child.pid))
        assert claim(tmp_path / "lock") is None
        child.communicate(b"\n")


@pytest.mark.parametrize(("age", "taken"), [(claims.STALE - 60, False), (claims.STALE + 60, True)])
def test_the_lock_of_another_machine_counts_while_it_gives_signs_of_life(tmp_path: Path, age, taken):
    foreign(tmp_path / "lock", host="elsewhere", age=age)
    assert (claim(tmp_path / "lock") is not None) == taken


def test_who_lost_a_lock_learns_it_and_leaves_it_alone(tmp_path: Path):
    mine = claim(tmp_path / "lock")
    assert mine is not None
    foreign(mine.path, host="elsewhere", age=0)
    assert not mine.refresh(now=True)
    mine.release()
    assert mine.path.exists()


def test_a_lock_being_written_is_held(tmp_path: Path):
    (tmp_path / "lock").touch()
    assert held(tmp_path / "lock") and claim(tmp_path / "lock") is None


def test_two_do_not_take_over_at_once(tmp_path: Path):
    foreign(tmp_path / "lock", host="elsewhere", age=claims.STALE + 60)
    (tmp_path / "lock.takeover").touch()
    assert claim(tmp_path / "lock") is None
