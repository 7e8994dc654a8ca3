"""Where Dragoman's time goes in a step of training, and in translating with its own engine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.page import table, turns
from benchmarks.speed.parts import recurrent, train, translate
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

TITLE = "Where the time goes"
PROFILED = Peer("profiling", "Dragoman")
COUNT = 6
"""Steps in a turn, or batches translated, and"""
STEPS = {"toy": 100}
"""those of models whose name begins so."""
TRANSLATING = "translating/"
"""Names of contestants that translate begin so."""
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
    contestants += translating(bench)
    records = bench.records("profile", {"loads": [one.load for one in contestants], "corpus": corpus.fingerprint})

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        count = STEPS.get(name.partition("-")[0], COUNT)
        return {"steps": count, **child.ask("profile", batches=list(range(count)))}

    def ready(child: Child) -> None:
        child.ask("profile", batches=[0, 1])

    take_turns(replace(bench, rounds=min(bench.rounds, ROUNDS)), records, contestants, turn, ready=ready)


def translating(bench: Bench) -> list[Contestant]:
    """Return the own engine in float32 with each size of the part `translate`, and batches of 1 and of 64."""
    found = []
    for name, size in (translate.QUICK if bench.quick else translate.SIZES).items():
        folder, _ = translate.model(bench, name, size, (size["layers"], size["layers"]), kinds=())
        sentences = translate.sentences(size["vocabulary"], COUNT * 64, seed=0)
        for batch in (1, 64):
            batches = [sentences[at : at + batch] for at in range(0, COUNT * batch, batch)]
            load = {"folder": str(folder), "sentences": batches}
            found.append(Contestant(f"{TRANSLATING}{name}/{batch}", f"{name}, batch {batch}", PROFILED, load))
    return found


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write a table of training and one of translating, each with a column for each model and arithmetic."""
    titles = {record["contestant"]: record["title"] for record in matching(records, what="loaded")}
    found = {name: list(rounds.values()) for name, rounds in turns(records).items()}
    apart = {name: found.pop(name) for name in list(found) if name.startswith(TRANSLATING)}
    return [
        "Dragoman alone, with models and batches of the two parts above, under torch's profiler, which itself costs time where "
        "operations are many and small. Shares of the time of a step; what the optimiser does is its own, all else goes by the "
        "name of the operation; `outside of operations` is what is left of the step: Python, and the way to an operation.",
        "",
        *shares(found, titles, "step"),
        "Translating with the own engine in fp32, beam 5, with models of the part `translate`:",
        "",
        *shares(apart, titles, "batch"),
    ]


def shares(found: Mapping[str, Sequence[Record]], titles: Mapping[str, str], unit: str) -> list[str]:
    """Write what the time of a step or of a batch goes to."""
    parts = {name: {kind: share(rounds, kind) for kind in kinds(rounds)} for name, rounds in found.items()}
    order = sorted(
        {kind for one in parts.values() for kind in one},
        key=lambda kind: -sum(one.get(kind, 0.0) for one in parts.values()),
    )
    rows = [[kind, *(f"{100 * one.get(kind, 0.0):.0f} %" for one in parts.values())] for kind in order]
    milliseconds = [
        f"{spread([1000 * turn['seconds'] / turn['steps'] for turn in rounds]).median:.1f}" for rounds in found.values()
    ]
    operations = [
        f"{spread([turn['operations'] / turn['steps'] for turn in rounds]).median:,.0f}" for rounds in found.values()
    ]
    rows += [[f"milliseconds a {unit}", *milliseconds], [f"operations a {unit}", *operations]]
    return table(["", *(titles[name] for name in found)], rows) if found else ["Nothing was measured.", ""]


def kinds(rounds: Sequence[Record]) -> set[str]:
    """Return the kinds of operation that turns have."""
    return {kind for turn in rounds for kind in turn["kinds"]}


def share(rounds: Sequence[Record], kind: str) -> float:
    """Return the median of a kind's share of the time."""
    return spread([turn["kinds"].get(kind, 0.0) / turn["seconds"] for turn in rounds]).median
