"""Where Dragoman's time goes in a step of training, and how much of it the matrix products alone would need."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.page import table, turns
from benchmarks.speed.parts import recurrent, train
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

TITLE = "Where the time of a step goes"
PROFILED = Peer("profiling", "Dragoman")
STEPS = {"toy": 100}
"""In a turn, of models whose name begins so; of others 6."""
ROUNDS = 3
"""At most."""


def run(bench: Bench) -> None:
    """Profile what has no record yet."""
    corpus = train.prepared(bench)
    given = {"Transformer": train.contestants(corpus, train.model_of(bench, corpus))}
    for size in recurrent.SIZES:
        batches = str(recurrent.batches_of(size, bench).resolve())
        given[f"recurrent, {size.title}"] = recurrent.contestants_of(
            size, recurrent.model_of(size, bench, corpus), batches
        )
    contestants = [
        Contestant(one.name, f"{one.title}, {model}", PROFILED, one.load, one.note)
        for model, found in given.items()
        for one in found
        if one.peer is train.DRAGOMAN
    ]
    records = bench.records("profile", {"loads": [one.load for one in contestants], "corpus": corpus.fingerprint})

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        count = STEPS.get(name.partition("-")[0], 6)
        return {"steps": count, **child.ask("profile", batches=list(range(count)))}

    def ready(child: Child) -> None:
        child.ask("profile", batches=[0, 1])

    take_turns(replace(bench, rounds=min(bench.rounds, ROUNDS)), records, contestants, turn, ready=ready)


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write a table with a column for each model and arithmetic."""
    loaded = {record["contestant"]: record for record in matching(records, what="loaded")}
    found = {name: list(rounds.values()) for name, rounds in turns(records).items()}
    shares = {name: {kind: share(rounds, kind) for kind in kinds(rounds)} for name, rounds in found.items()}
    order = sorted(
        {kind for one in shares.values() for kind in one},
        key=lambda kind: -sum(one.get(kind, 0.0) for one in shares.values()),
    )
    rows = [[kind, *(f"{100 * one.get(kind, 0.0):.0f} %" for one in shares.values())] for kind in order]
    milliseconds = [
        f"{spread([1000 * turn['seconds'] / turn['steps'] for turn in rounds]).median:.1f}" for rounds in found.values()
    ]
    operations = [
        f"{spread([turn['operations'] / turn['steps'] for turn in rounds]).median:,.0f}" for rounds in found.values()
    ]
    return [
        "Dragoman alone, with models and batches of the two parts above, under torch's profiler, which itself costs time where "
        "operations are many and small. Shares of the time of a step; what the optimiser does is its own, all else goes by the "
        "name of the operation; `outside of operations` is what is left of the step: Python, and the way to an operation.",
        "",
        *table(
            ["", *(loaded[name]["title"] for name in found)],
            [*rows, ["milliseconds a step", *milliseconds], ["operations a step", *operations]],
        ),
    ]


def kinds(rounds: Sequence[Record]) -> set[str]:
    """Return the kinds of operation that turns have."""
    return {kind for turn in rounds for kind in turn["kinds"]}


def share(rounds: Sequence[Record], kind: str) -> float:
    """Return the median of a kind's share of the time."""
    return spread([turn["kinds"].get(kind, 0.0) / turn["seconds"] for turn in rounds]).median
