"""Peers live in processes of their own and take turns; what is finished is not repeated, and what fails is said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed import bench as benching
from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer, PeerError, python_of
from benchmarks.speed.records import Records, latest, read

FAKE = Peer("fake", "Fake", script=Path(__file__).parent / "fake.py")
CALIBRATION = {"float32": 1e9, "bfloat16": 2e9}


@pytest.fixture(autouse=True)
def calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no time to calibrate."""
    monkeypatch.setattr(benching, "rates", lambda: CALIBRATION)


def contestant(name: str, **load: Any) -> Contestant:
    """Return a fake contestant."""
    return Contestant(name, name.capitalize(), FAKE, {"seconds": 0.5, **load})


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
