"""Each file of a run has a checksum, at every moment, and what is not what was written is named."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman import atomic
from dragoman.data import ledger
from dragoman.data.ledger import (
    LEDGER,
    check,
    record,
    record_growing,
    recorded,
    remove_recorded,
    replacing_recorded,
    write_recorded,
)
from dragoman.errors import DamagedError, RunError
from dragoman.training.checkpoint import save_tensors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a file of a run with its checksum."""
    (tmp_path / "run" / "inside").mkdir(parents=True)
    write_recorded(tmp_path / "run", tmp_path / "run" / "inside" / "a.json", "old\n")
    return tmp_path / "run" / "inside" / "a.json"


@pytest.fixture
def run(path: Path) -> Path:
    """Return the run of that file."""
    return path.parents[1]


def test_a_file_is_recorded_as_it_is_written(run: Path, path: Path):
    assert path.read_text(encoding="utf-8") == "old\n"
    assert list(recorded(run) or {}) == ["inside/a.json"]
    check(run, path)
    write_recorded(run, path, "new\n")
    check(run, path)
    assert [len(one) for one in (recorded(run) or {}).values()] == [1]


@pytest.mark.parametrize("content", ["OLD\n", "ol", "", "old\n\n"])
def test_a_file_that_was_changed_is_named(run: Path, path: Path, content: str):
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DamagedError, match=r"a\.json is damaged, or not the file that was saved there"):
        check(run, path)


def test_a_file_that_is_gone_is_named(run: Path, path: Path):
    path.unlink()
    with pytest.raises(DamagedError, match=r"a\.json is missing; restore it"):
        check(run, path)


def test_files_without_a_checksum_are_left_alone(run: Path, tmp_path: Path):
    (run / "own.txt").write_text("mine", encoding="utf-8")
    check(run, run / "own.txt", run / "none.txt")
    check(tmp_path, run / "own.txt")
    assert recorded(tmp_path) is None


def test_a_relative_and_an_absolute_path_are_the_same(run: Path, path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(run.parent)
    path.write_text("bad", encoding="utf-8")
    with pytest.raises(DamagedError):
        check(Path("run"), path)


def test_weights_are_known_by_the_checksum_inside(run: Path):
    for name, value in (("model", 1.0), ("other", 2.0)):
        save_tensors(run / f"{name}.safetensors", {"a": torch.full((3,), value)}, run=run)
    check(run, run / "model.safetensors", run / "other.safetensors")
    (run / "other.safetensors").replace(run / "model.safetensors")
    with pytest.raises(DamagedError, match=r"model\.safetensors is damaged, or not the file that was saved there"):
        check(run, run / "model.safetensors")


@pytest.mark.parametrize("at", ["checksums.json", "a.json", "checksums.json again"])
def test_a_process_may_be_killed_at_every_moment_of_a_save(
    run: Path, path: Path, at: str, monkeypatch: pytest.MonkeyPatch
):
    """Each of the three renames is the last; what is there then is accepted, whichever it is."""
    renames = 0
    replace = os.replace

    class Killed(BaseException):
        pass

    def renamed(source: Path, target: Path) -> None:
        nonlocal renames
        if renames == ["checksums.json", "a.json", "checksums.json again"].index(at):
            raise Killed
        renames += 1
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", renamed)
    with pytest.raises(Killed):
        write_recorded(run, path, "new\n")
    assert path.read_text(encoding="utf-8") == ("new\n" if at == "checksums.json again" else "old\n")
    check(run, path)
    monkeypatch.undo()
    write_recorded(run, path, "newer\n")
    check(run, path)
    assert [len(one) for one in (recorded(run) or {}).values()] == [1]


def test_a_file_of_an_earlier_release_may_be_replaced_for_the_first_time(run: Path):
    (run / "b.json").write_text("from before", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), replacing_recorded(run, run / "b.json") as temporary:
        temporary.write_text("new", encoding="utf-8")
        _ = 1 / 0
    check(run, run / "b.json")
    assert "b.json" not in (recorded(run) or {})


def test_a_full_disk_after_the_rename_leaves_a_file_that_is_accepted(
    run: Path, path: Path, monkeypatch: pytest.MonkeyPatch
):
    write, calls = ledger.write_text, []

    def fail(place: Path, text: str) -> None:
        calls.append(place)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        write(place, text)

    monkeypatch.setattr(ledger, "write_text", fail)
    write_recorded(run, path, "new\n")
    check(run, path)
    assert len((recorded(run) or {})["inside/a.json"]) == 2


def test_a_file_that_was_removed_is_not_missed(run: Path, path: Path):
    remove_recorded(run, path)
    assert not path.exists() and recorded(run) == {}


def test_a_removal_may_be_interrupted(run: Path, path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        remove_recorded(run, path)
    monkeypatch.undo()
    check(run, path)
    path.unlink()
    check(run, path)


def test_of_a_file_that_grows_the_beginning_counts(run: Path):
    path = run / "metrics.jsonl"
    record_growing(run, path)
    path.write_text("1\n2\n", encoding="utf-8")
    record_growing(run, path)
    path.write_text("1\n2\n3\n", encoding="utf-8")
    check(run, path)
    for text in ("1\n3\n3\n", "1\n", ""):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DamagedError):
            check(run, path)
    write_recorded(run, path, "1\n", grows=True)
    path.write_text("1\n9\n", encoding="utf-8")
    check(run, path)


def test_what_stands_there_can_be_recorded(run: Path):
    for name in ("b", "c"):
        (run / name).write_text(name, encoding="utf-8")
    record(run, [run / "b", run / "c"])
    (run / "c").write_text("b", encoding="utf-8")
    check(run, run / "b")
    with pytest.raises(DamagedError, match="run/c is damaged"):
        check(run, run / "c")


def test_every_changed_byte_of_the_checksums_themselves_is_noticed(run: Path):
    content = (run / LEDGER).read_bytes()
    for place in range(len(content)):
        (run / LEDGER).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(RunError, match=r"checksums\.json is damaged; restore it .* or delete it"):
            recorded(run)
    for damaged in (b"", content[:-1], b"[" * 100_000, b"[]", b'{"files": 5}', b"\xff"):
        (run / LEDGER).write_bytes(damaged)
        with pytest.raises(RunError, match=r"checksums\.json is damaged"):
            check(run, run / "inside" / "a.json")


def test_several_processes_may_record_at_once(run: Path):
    def write(number: int) -> None:
        for name in range(5):
            write_recorded(run, run / f"{number}-{name}", "x")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorded(run) or {}) == 21


def test_a_file_that_is_being_replaced_is_compared_again(run: Path, path: Path, monkeypatch: pytest.MonkeyPatch):
    """The checksums are those from before another process saved, the file is the one from after it; then both are new."""
    before, read = (run / LEDGER).read_text(encoding="utf-8"), ledger.recorded
    write_recorded(run, path, "new\n")
    seen: list[object] = []

    def first_old(folder: Path) -> object:
        seen.append(json.loads(before)["files"] if not seen else read(folder))
        return seen[-1]

    monkeypatch.setattr(ledger, "recorded", first_old)
    check(run, path)
    assert len(seen) == 2


@pytest.mark.parametrize(
    "files",
    [
        *({name: ["ab"]} for name in ("../other", "training/../../other", "/etc/passwd", "", "a\0b", "..\\b", "C:b")),
        *(
            {"inside/a.json": sums}
            for sums in (5, None, "ab", [5], {"a": 1}, ["ab:x"], ["ab:-5"], [f"{'a' * 64}:{'9' * 99}"])
        ),
    ],
    ids=str,
)
def test_checksums_that_no_run_has_are_damaged(files: dict[str, Any], run: Path, path: Path):
    (run / LEDGER).write_text(ledger._text(files))
    with pytest.raises(RunError, match=rf"{LEDGER} is damaged"):
        check(run, path)


def test_a_beginning_of_more_bytes_than_there_are_takes_no_memory(run: Path, path: Path):
    (run / LEDGER).write_text(ledger._text({"inside/a.json": [f"{'0' * 64}:{10**17}"]}))
    with pytest.raises(DamagedError, match=r"a\.json is damaged"):
        check(run, path)


@pytest.mark.parametrize("name", ["inside/a.json", "model.safetensors", "metrics.jsonl"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_damage(name: str, run: Path):
    path = run / name
    write_recorded(run, path, "text", grows=name == "metrics.jsonl")
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        path.unlink()
        make(path)
        with pytest.raises(DamagedError, match=rf"{path.name} is damaged, or not the file that was saved there"):
            check(run, path)
