"""What every part is handed, and how contestants take turns."""

import hashlib
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.calibration import rates
from benchmarks.speed.children import ROOT, Child, Peer, PeerError, python_of
from benchmarks.speed.records import Record, Records, digest

from dragoman.machine.provenance import commit, machine


@dataclass(frozen=True)
class Bench:
    """What the user asked for."""

    work: Path = Path(".bench")
    """Environments, prepared data and logs."""
    results: Path = Path(".bench/results")
    """Records."""
    data: Path | None = None
    """A folder of Multi30k; without it pairs are generated."""
    rounds: int = 8
    seconds: float = 6.0
    """About so long is one turn."""
    peers: tuple[str, ...] = ()
    """Only these; by default all."""
    again: bool = False
    """Measure also what is finished."""
    quick: bool = False
    """Tiny models and batches: does everything run?"""
    minutes: float = 30.0
    """How long each peer trains for the part `quality`."""
    own_minutes: tuple[float, ...] = ()
    """How long Dragoman does, once each; by default a third of `minutes`."""
    batch_tokens: int | None = None
    """Cells of the longer side in a batch of the peers there; by default those of the part `train`."""
    recipe: str = "multi30k-en-fr-fast"
    """Dragoman's for that part: a file, or a name."""
    teacher: Path | None = None
    """A run, for the part `student`."""
    students: tuple[Path, ...] = ()
    """Runs that were distilled from it."""
    say: Callable[[str], None] = print

    def records(
        self, part: str, settings: Mapping[str, Any], *, of_code: bool = True, of_peers: bool = True
    ) -> Records:
        """Return the records of a part, of these settings and, unless `of_code` is off, this code.

        With `again` there are none yet; but where only some peers are asked for, those of all stay (`of_peers`: whether there
        are peers in the part at all), and it releases theirs when they have their turns.
        """
        given = [dict(settings), code() if of_code else "", machine(), torch.get_num_threads()]
        records = Records(self.results, part, digest(given))
        if self.again and not (of_peers and self.peers):
            records.forget()
        return records

    def wants(self, peer: Peer) -> bool:
        """Say whether a peer is to be measured."""
        return not self.peers or peer.name in self.peers


@dataclass(frozen=True)
class Contestant:
    """A peer with settings of its own: one row of a table."""

    name: str
    title: str
    peer: Peer
    load: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `load`."""
    note: str = ""
    """In what it differs from the others."""
    missing: str = ""
    """Why it cannot be measured here, where that is known beforehand."""


Turn = Callable[[Child, int, str], Mapping[str, Any]]
"""Lets a child work in a round, for the contestant of a name, and returns the numbers of its record."""


def about() -> dict[str, Any]:
    """Return what numbers depend on besides the settings: machine, commit, versions, time."""
    return {
        "machine": machine(),
        "commit": commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def code() -> str:
    """Return a hash of Dragoman's source: numbers of other code are another run's."""
    found = hashlib.sha256()
    sources = (path for kind in ("*.py", "*.cpp", "*.h") for path in (ROOT / "src" / "dragoman").rglob(kind))
    for path in sorted(sources):
        found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def take_turns(
    bench: Bench,
    records: Records,
    contestants: Sequence[Contestant],
    turn: Turn,
    *,
    ready: Callable[[Child], Any] = lambda child: None,
) -> None:
    """Measure all contestants, alive at the same time, in turns; what has a record is not measured again.

    In each round every contestant has one turn, beginning with another one each time, with a matrix product before and
    after it. A round that was interrupted is repeated as a whole, and each turn says in which sitting it was taken, so that
    only turns that stood side by side are compared. `ready` warms a child up. A contestant that fails is recorded with its
    reason, and the others go on.
    """
    contestants = [one for one in contestants if bench.wants(one.peer)]
    if bench.again and bench.peers:
        records.forget([one.name for one in contestants])
    if all(_finished(records, one, bench.rounds) for one in contestants):
        return
    sitting = begin_sitting(records)
    with ExitStack() as stack:
        live = {one.name: child for one in contestants if (child := _start(bench, records, one, stack, ready))}
        for number in range(bench.rounds):
            wanted = [one for one in contestants if one.name in live]
            if all(records.all("turn", contestant=one.name, round=number) for one in wanted):
                continue
            bench.say(f"{records.part}: round {number + 1} of {bench.rounds}")
            first = number % max(len(wanted), 1)
            for one, numbers in _round([*wanted[first:], *wanted[:first]], live, number, turn):
                if isinstance(numbers, PeerError):
                    _skip(records, one, f"in round {number + 1}, {numbers}")
                else:
                    records.add("turn", contestant=one.name, round=number, sitting=sitting, **numbers)


def own_folder(parent: Path, name: str, settings: Any) -> Path:
    """Return the folder of a name for these settings, and remove those of other settings, which nothing reads any more."""
    key = digest(settings)
    for old in parent.glob(f"{name}-*"):
        if re.fullmatch(f"{re.escape(name)}-[0-9a-f]{{12}}", old.name) and not old.name.endswith(key):
            shutil.rmtree(old)
    return parent / f"{name}-{key}"


def begin_sitting(records: Records) -> int:
    """Record the circumstances, and return the number of the sitting that begins."""
    sitting = len(records.all("about")) + 1
    records.add("about", sitting=sitting, **about())
    return sitting


def _round(
    contestants: Iterable[Contestant], live: dict[str, Child], number: int, turn: Turn
) -> Iterator[tuple[Contestant, Mapping[str, Any] | PeerError]]:
    """Give each contestant its turn, and yield its numbers, or what went wrong."""
    before = rates()
    for one in contestants:
        try:
            numbers = turn(live[one.name], number, one.name)
        except PeerError as error:
            live.pop(one.name).close()
            yield one, error
            before = rates()
            continue
        after = rates()
        calibrated = {name: (before[name] + after[name]) / 2 for name in before}
        yield one, {"calibration": calibrated, **numbers}
        before = after


def _start(
    bench: Bench, records: Records, one: Contestant, stack: ExitStack, ready: Callable[[Child], Any]
) -> Child | None:
    """Start, load and warm up a contestant, and record what it says; None where that fails."""
    bench.say(f"{records.part}: starting {one.title}")
    try:
        if one.missing:
            raise PeerError(one.missing)
        python = python_of(one.peer, bench.work, bench.say)
        child = Child(one.peer, python, bench.work / "logs" / f"{records.part}-{one.name}.log")
        stack.callback(child.close)
        loaded = child.ask("load", **one.load)
        ready(child)
    except PeerError as error:
        bench.say(f"{records.part}: {one.title} is skipped: {error}")
        _skip(records, one, str(error))
        return None
    records.add("loaded", contestant=one.name, title=one.title, note=one.note, **loaded)
    return child


def _skip(records: Records, one: Contestant, reason: str) -> None:
    """Record why a contestant is not, or no longer, there."""
    records.add("skipped", contestant=one.name, title=one.title, reason=reason)


def _finished(records: Records, one: Contestant, rounds: int) -> bool:
    """Say whether a contestant has all its turns, or was skipped when it was last tried."""
    states: list[Record] = records.all(contestant=one.name)
    last = next((state["what"] for state in reversed(states) if state["what"] in ("loaded", "skipped")), None)
    done = {state["round"] for state in states if state["what"] == "turn"}
    return last == "skipped" or set(range(rounds)) <= done
