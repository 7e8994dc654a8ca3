"""Peers live in processes of their own and take turns; what is finished is not repeated, and what fails is said."""

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed import bench as benching
from benchmarks.speed import calibration
from benchmarks.speed.bench import Bench, Contestant, own_folder, take_turns
from benchmarks.speed.children import Child, Peer, PeerError, end, python_of
from benchmarks.speed.records import Records, latest, read

FAKE = Peer("fake", "Fake", script=Path(__file__).parent / "fake.py")
CALIBRATION = {"float32": 1e9, "bfloat16": 2e9}


@pytest.fixture(autouse=True)
def calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no time to calibrate."""
    monkeypatch.setattr(benching, "rates", lambda: CALIBRATION)


def contestant(name: str, *, peer: str = "fake", missing: str = "", **load: Any) -> Contestant:
    """Return a fake contestant."""
    return Contestant(name, name.capitalize(), replace(FAKE, name=peer), {"seconds": 0.5, **load}, missing=missing)


def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
    """Let a fake take steps."""
    return child.ask("steps", number=number, within=20.0)


def bench(folder: Path, said: list[str] | None = None, **options: Any) -> Bench:
    """Return what a user might ask for."""
    say = (said if said is not None else []).append
    return Bench(**{"work": folder, "results": folder / "results", "rounds": 3, "say": say, **options})


def go(asked: Bench, *contestants: Contestant, settings: Mapping[str, Any] | None = None) -> Records:
    """Measure."""
    records = asked.records("part", settings or {})
    take_turns(asked, records, contestants, turn)
    return records


def order(records: Records) -> list[tuple[int, str]]:
    """Return whose turn it was."""
    return [(record["round"], record["contestant"]) for record in records.all("turn")]


def test_contestants_take_turns_and_begin_in_turn(tmp_path: Path) -> None:
    records = go(bench(tmp_path), contestant("a"), contestant("b"))
    assert order(records) == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]
    first = records.all("turn")[0]
    assert first["seconds"] == 0.5 and first["calibration"] == CALIBRATION and first["memory"] > 0
    assert [record["contestant"] for record in records.all("loaded")] == ["a", "b"]
    assert len(records.all("about")) == 1


def test_what_is_finished_is_not_repeated_unless_asked(tmp_path: Path) -> None:
    go(bench(tmp_path), contestant("a"))
    said: list[str] = []
    records = go(bench(tmp_path, said), contestant("a"))
    assert said == [] and len(records.all()) == 5
    go(bench(tmp_path, rounds=4), contestant("a"))
    assert order(records) == [(0, "a"), (1, "a"), (2, "a"), (3, "a")]
    again = go(bench(tmp_path, again=True), contestant("a"))
    assert order(again) == [(0, "a"), (1, "a"), (2, "a")]


def test_a_round_that_was_broken_off_is_taken_anew_as_a_whole(tmp_path: Path) -> None:
    records = go(bench(tmp_path), contestant("a"), contestant("b"))
    lines = records.path.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if '"round": 2, ' not in line or '"contestant": "a"' in line]
    records.path.write_text("\n".join(kept) + '{"part": "cut sho', encoding="utf-8")
    go(bench(tmp_path), contestant("a"), contestant("b"))
    assert order(records)[-3:] == [(2, "a"), (2, "a"), (2, "b")]


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    go(bench(tmp_path), contestant("a"), settings={"width": 1})
    records = go(bench(tmp_path), contestant("b"), settings={"width": 2})
    assert {record["contestant"] for record in records.all("turn")} == {"b"}
    assert {record.get("contestant") for record in latest(read(records.path))} == {None, "b"}


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"refuse": True}, "`load` failed: ValueError: this peer | will not /usr/lib/python/site.py load"),
        ({"die": 1}, "in round 2, `steps` ended the process with code 3: what libraries print must not be an answer"),
    ],
)
def test_a_peer_that_fails_is_skipped_with_its_reason(tmp_path: Path, trouble: dict[str, Any], reason: str) -> None:
    records = go(bench(tmp_path), contestant("bad", **trouble), contestant("good"))
    assert [record["reason"] for record in records.all("skipped")] == [reason]
    assert [name for _, name in order(records)].count("good") == 3
    said: list[str] = []
    go(bench(tmp_path, said), contestant("bad", **trouble), contestant("good"))
    assert said == []


def test_a_peer_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    child = Child(FAKE, python_of(FAKE, tmp_path, print), tmp_path / "log")
    child.ask("load", within=20.0, seconds=0.5, hang=1)
    with pytest.raises(PeerError, match="`steps` had no answer in time"):
        child.ask("steps", within=0.2, number=1)
    child.close()


def test_a_peer_that_will_not_install_is_skipped_with_what_pip_said(tmp_path: Path) -> None:
    python = tmp_path / "none" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'ERROR: no such package' >&2\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    peer = Peer("none", "None", ("there-is-no-such-package",))
    with pytest.raises(PeerError, match="it would not install: ERROR: no such package"):
        python_of(peer, tmp_path, print)


def test_only_the_peers_asked_for_are_measured(tmp_path: Path) -> None:
    records = go(bench(tmp_path, peers=("other",)), contestant("a"))
    assert records.all() == []


def test_measuring_a_peer_again_lets_go_of_its_own_turns_alone(tmp_path: Path) -> None:
    both = (contestant("a", peer="one"), contestant("b", peer="two"))
    go(bench(tmp_path), *both)
    records = go(bench(tmp_path, again=True, peers=("two",)), *both)
    assert [(turn["sitting"], turn["round"]) for turn in records.all("turn", contestant="a")] == [
        (1, 0),
        (1, 1),
        (1, 2),
    ]
    assert [(turn["sitting"], turn["round"]) for turn in records.all("turn", contestant="b")] == [
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    assert [about["sitting"] for about in records.all("about")] == [1, 2]


def test_what_cannot_be_measured_here_is_skipped_with_its_reason(tmp_path: Path) -> None:
    records = go(bench(tmp_path), contestant("bad", missing="it is not installed"), contestant("good"))
    assert [(one["contestant"], one["reason"]) for one in records.all("skipped")] == [("bad", "it is not installed")]
    assert {name for _, name in order(records)} == {"good"}


def test_a_folder_of_other_settings_is_removed_and_others_are_left(tmp_path: Path) -> None:
    first = own_folder(tmp_path, "small", [1])
    first.mkdir()
    (tmp_path / "small-quick-0123456789ab").mkdir()
    assert own_folder(tmp_path, "small", [1]) == first and first.exists()
    assert own_folder(tmp_path, "small", [2]) != first and not first.exists()
    assert (tmp_path / "small-quick-0123456789ab").exists()


def status(process: int) -> str:
    """Return the letter by which the system says whether a process runs (R), waits (S) or is held (T)."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say how processes are")
def test_a_group_of_processes_is_held_while_the_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[str] = []

    def state() -> dict[str, float]:
        until = time.monotonic() + 5
        while (now := status(process.pid)) != "T" and time.monotonic() < until:
            time.sleep(0.01)
        states.append(now)
        return CALIBRATION

    monkeypatch.setattr(calibration, "rates", state)
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], process_group=0)
    try:
        with calibration.pauses(process.pid, 0.05) as found:
            time.sleep(0.5)
        assert found and set(states) == {"T"} and process.poll() is None
    finally:
        end(process)
    with calibration.pauses(process.pid, 0.01) as found:
        time.sleep(0.1)
    assert found == []
