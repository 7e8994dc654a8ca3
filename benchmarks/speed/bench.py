"""What every part is handed, and how contestants take turns."""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.calibration import rates
from benchmarks.speed.children import ROOT, Child, Peer, PeerError, python_of
from benchmarks.speed.records import Record, Records

from dragoman.circumstances import commit, machine


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
    recipe: str = str(ROOT / "recipes" / "multi30k-en-fr-fast.yaml")
    """Dragoman's for that part: a file, or a name."""
    say: Callable[[str], None] = print

    def records(self, part: str, settings: Mapping[str, Any], *, of_code: bool = True) -> Records:
        """Return the records of a part, of these settings and, unless `of_code` is off, this code; with `again`, none yet."""
        given = [dict(settings), code() if of_code else "", machine(), torch.get_num_threads()]
        table = json.dumps(given, sort_keys=True, default=str)
        records = Records(self.results, part, hashlib.sha256(table.encode()).hexdigest()[:12])
        if self.again and of_code:
            records.forget()
        return records


@dataclass(frozen=True)
class Contestant:
    """A peer with settings of its own: one row of a table."""

    name: str
    title: str
    peer: Peer
    load: Mapping[str, Any] = field(default_factory=dict)
    """What `load` is told."""
    note: str = ""
    """In what it differs from the others."""


Turn = Callable[[Child, int, str], Mapping[str, Any]]
"""Lets a child work in a round, for the contestant of a name, and returns the numbers of its record."""


def about() -> dict[str, Any]:
    """Return what numbers depend on beside the settings: machine, commit, versions, time."""
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
    digest = hashlib.sha256()
    sources = (path for kind in ("*.py", "*.cpp") for path in (ROOT / "src" / "dragoman").rglob(kind))
    for path in sorted(sources):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


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
    after it. A round that was broken off is taken anew as a whole, so that the turns of a round always stand side by
    side. `ready` warms a child up. A contestant that fails is recorded with its reason, and the others go on.
    """
    if bench.peers:
        contestants = [one for one in contestants if one.peer.name in bench.peers]
    if all(_finished(records, one, bench.rounds) for one in contestants):
        return
    records.add("about", **about())
    with ExitStack() as stack:
        live = {one.name: child for one in contestants if (child := _start(bench, records, one, stack, ready))}
        for number in range(bench.rounds):
            wanted = [one for one in contestants if one.name in live]
            if all(records.all("turn", contestant=one.name, round=number) for one in wanted):
                continue
            bench.say(f"{records.part}: round {number + 1} of {bench.rounds}")
            first = number % max(len(wanted), 1)
            _round(records, [*wanted[first:], *wanted[:first]], live, number, turn)


def _round(
    records: Records, contestants: Iterable[Contestant], live: dict[str, Child], number: int, turn: Turn
) -> None:
    """Give each contestant its turn."""
    before = rates()
    for one in contestants:
        try:
            numbers = turn(live[one.name], number, one.name)
        except PeerError as error:
            live.pop(one.name).close()
            _skip(records, one, f"in round {number + 1}, {error}")
            before = rates()
            continue
        after = rates()
        calibrated = {name: (before[name] + after[name]) / 2 for name in before}
        records.add("turn", contestant=one.name, round=number, calibration=calibrated, **numbers)
        before = after


def _start(
    bench: Bench, records: Records, one: Contestant, stack: ExitStack, ready: Callable[[Child], Any]
) -> Child | None:
    """Start, load and warm up a contestant, and record what it says; None where that fails."""
    bench.say(f"{records.part}: starting {one.title}")
    try:
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
