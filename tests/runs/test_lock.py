"""Locks: one process alone holds each; what the dead held is taken over."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.errors import RunError
from dragoman.runs import lock as module
from dragoman.runs.lock import LOCK, claim, held, owned, run_lock, stale


def foreign(path: Path, *, host: str, age: float, pids: tuple[int, ...] = (0,), **more: str) -> None:
    """Write the lock of another process."""
    table = {"token": "other", "host": host, "pids": list(pids), "time": time.time() - age, **more}
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


@pytest.mark.parametrize(("age", "taken"), [(module.STALE - 60, False), (module.STALE + 60, True)])
def test_the_lock_of_another_machine_counts_while_it_gives_signs_of_life(tmp_path: Path, age, taken):
    foreign(tmp_path / "lock", host="elsewhere", age=age)
    assert (claim(tmp_path / "lock") is not None) == taken


@pytest.mark.parametrize(("age", "taken"), [(module.STALE - 60, False), (module.STALE + 60, True)])
def test_a_container_with_the_name_of_this_machine_is_another_machine(tmp_path: Path, age: float, taken: bool) -> None:
    """Its processes have numbers of their own, which nobody has here, or somebody else."""
    foreign(tmp_path / LOCK, host=socket.gethostname(), age=age, pids=(dead(),), place="another machine or container")
    if not taken:
        with (
            pytest.raises(
                RunError, match=r"if it was killed, or works in another copy of this folder, at most 3 minutes"
            ),
            run_lock(tmp_path),
        ):
            pass
    assert (claim(tmp_path / LOCK) is not None) == taken


def test_without_proc_the_name_of_the_machine_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "readlink", lambda path: (_ for _ in ()).throw(FileNotFoundError()))
    foreign(tmp_path / LOCK, host=socket.gethostname(), age=0, pids=(dead(),), place="")
    assert claim(tmp_path / LOCK) is not None


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
    foreign(tmp_path / "lock", host="elsewhere", age=module.STALE + 60)
    (tmp_path / "lock.takeover").touch()
    assert claim(tmp_path / "lock") is None


def test_a_takeover_that_was_killed_holds_nobody_up(tmp_path: Path):
    for name in ("lock", "lock.takeover"):
        foreign(tmp_path / name, host=socket.gethostname(), age=0, pids=(dead(),))
    mine = claim(tmp_path / "lock")
    assert mine is not None and not stale(mine.path) and list(tmp_path.iterdir()) == [mine.path]


def test_a_number_that_another_process_has_by_now_is_no_sign_of_life(tmp_path: Path):
    mine = claim(tmp_path / "lock")
    assert mine is not None
    table = json.loads(mine.path.read_text(encoding="utf-8"))
    table["started"] = {str(os.getpid()): 1}
    mine.path.write_text(json.dumps(table), encoding="utf-8")
    assert stale(mine.path)


WHOLE = {"token": "x", "host": socket.gethostname(), "pids": [1], "time": 0.0}
ODD = [{"time": "soon"}, {"pids": 7}, {"pids": []}, {"pids": ["x"]}, {"pids": [10**30]}, {"started": 3}, {"host": None}]


@pytest.mark.parametrize(
    "text", ["[]", "5", "{", '{"token": "x"}', "[" * 5000, *(json.dumps({**WHOLE, **one}) for one in ODD)]
)
def test_a_damaged_lock_is_taken_over_after_a_while(tmp_path: Path, text: str):
    path = tmp_path / "lock"
    path.write_text(text, encoding="utf-8")
    assert held(path)
    os.utime(path, (0, 0))
    assert claim(path) is not None


def test_one_process_alone_trains_into_a_run(tmp_path: Path):
    refused = pytest.raises(RunError, match=f"process {os.getpid()} on .* is working in it")
    with run_lock(tmp_path / "run"), refused, run_lock(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_who_knows_that_a_machine_was_lost_waits_until_its_lock_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "STALE", 0.5)
    monkeypatch.setattr(module, "POLL", 0.01)
    foreign(tmp_path / LOCK, host="elsewhere", age=0, pids=(7,))
    said: list[str] = []
    with run_lock(tmp_path, lost=said.append) as mine:
        assert mine.refresh(now=True)
    assert len(said) == 1 and "process 7 on elsewhere" in said[0]


def test_who_takes_a_living_machine_for_lost_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "STALE", 0.2)
    monkeypatch.setattr(module, "REFRESH", 0.1)
    monkeypatch.setattr(module, "POLL", 0.01)
    foreign(tmp_path / LOCK, host="elsewhere", age=-60)  # as if it went on giving signs of life
    with pytest.raises(RunError, match=r"is in use: .* elsewhere"), run_lock(tmp_path, lost=lambda _: None):
        pass
    assert json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))["token"] == "other"


def test_a_process_of_this_machine_is_never_taken_for_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "POLL", 10**6)  # which waiting would take
    refused = pytest.raises(RunError, match="is in use")
    with run_lock(tmp_path / "run"), refused, run_lock(tmp_path / "run", lost=lambda _: None):
        pass


def test_a_copy_of_a_folder_in_use_is_free(tmp_path: Path):
    with run_lock(tmp_path / "run"):
        shutil.copytree(tmp_path / "run", tmp_path / "copy")
        assert not held(tmp_path / "copy" / LOCK) and not owned(tmp_path / "copy" / LOCK)
        with run_lock(tmp_path / "copy") as mine:
            assert mine.refresh(now=True)
        assert held(tmp_path / "run" / LOCK)


def test_a_folder_in_use_stays_so_by_another_path_and_when_it_is_moved(tmp_path: Path):
    mine = claim(tmp_path / "run" / LOCK)
    (tmp_path / "link").symlink_to("run")
    assert mine is not None and held(tmp_path / "link" / LOCK) and owned(tmp_path / "link" / LOCK)
    (tmp_path / "run").rename(tmp_path / "moved")
    assert held(tmp_path / "moved" / LOCK) and claim(tmp_path / "moved" / LOCK) is None


def test_a_folder_that_the_file_system_numbers_anew_stays_in_use(tmp_path: Path):
    mine = claim(tmp_path / LOCK)
    assert mine is not None
    table = json.loads(mine.path.read_text(encoding="utf-8"))
    table["folder"][1] = "another"
    mine.path.write_text(json.dumps(table), encoding="utf-8")
    assert held(mine.path)


def test_a_folder_that_was_written_to_stays_without_its_lock(tmp_path: Path):
    with run_lock(tmp_path / "runs" / "run"):
        (tmp_path / "runs" / "run" / "file").touch()
    assert [path.name for path in (tmp_path / "runs" / "run").iterdir()] == ["file"]


def test_what_a_killed_process_left_is_swept(tmp_path: Path):
    foreign(tmp_path / LOCK, host=socket.gethostname(), age=0, pids=(dead(),))
    names = ("source.json", "training/last.safetensors", "distilled/1.place", "mixed/general-train-1.jsonl")
    left = [(tmp_path / name).with_name(f".{Path(name).name}.7.partial") for name in names]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    with run_lock(tmp_path):
        assert not any(path.exists() for path in left)


def test_a_run_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REFRESH", 0.01)
    with run_lock(tmp_path):
        table = json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))
        until = time.monotonic() + 10
        while json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))["time"] == table["time"]:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_file_is_no_run_folder(tmp_path: Path):
    (tmp_path / "run").touch()
    with pytest.raises(RunError, match="is a file; choose another folder"), run_lock(tmp_path / "run"):
        pass
