"""Training of Bahdanau's translator: Dragoman and the textbook's loop, at the textbook's size and at a usual one."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.speed.bench import Bench, Contestant, take_turns
from benchmarks.speed.children import Child, Peer
from benchmarks.speed.corpus import Prepared
from benchmarks.speed.page import compare, memory, table, turns
from benchmarks.speed.parts.train import DRAGOMAN, ENDLESS, prepared, warm_up
from benchmarks.speed.records import Record, digest, matching
from benchmarks.speed.statistics import spread

from dragoman.atomic import write_text
from dragoman.data.buckets import sort_by_length

TITLE = "Training Bahdanau's recurrent translator"
TEXTBOOK = Peer("textbook", "textbook loop")
LEARNING_RATE = 0.001


@dataclass(frozen=True)
class Size:
    """A model and its batches."""

    name: str
    title: str
    model: Mapping[str, Any]
    batch: int
    single: bool
    """Also let the textbook's loop have one thread, which is faster where little is computed at a time."""


SIZES = (
    Size("toy", "hidden 32", {"embedding": 32, "hidden": 32, "layers": 2, "dropout": 0.1, "vocabulary": 200}, 64, True),
    Size("large", "hidden 512", {"embedding": 256, "hidden": 512, "layers": 1, "dropout": 0.1}, 128, False),
)


def run(bench: Bench) -> None:
    """Measure what has no record yet."""
    corpus = prepared(bench)
    places = {size.name: batches_of(size, bench) for size in SIZES}
    models = {size.name: model_of(size, bench, corpus) for size in SIZES}
    settings = {"models": models, "corpus": corpus.fingerprint, "seconds": bench.seconds}
    records = bench.records("recurrent", settings)
    plans = {record["size"]: record for record in records.all("plan")}
    batches = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in places.items()}
    contestants = [
        one for size in SIZES for one in contestants_of(size, models[size.name], str(places[size.name].resolve()))
    ]
    sizes = {one.name: size for size in SIZES for one in contestants if one.name.startswith(size.name)}

    def turn(child: Child, number: int, name: str) -> Mapping[str, Any]:
        size = sizes[name]
        if size.name not in plans:
            few = [at % len(batches[size.name]) for at in range(4)]
            pace = child.ask("steps", batches=few)["seconds"] / 4
            count = min(max(round(bench.seconds / 4 / pace), 2), 1000)
            described = {"model": models[size.name], "batch": size.batch, "corpus": corpus.name}
            plans[size.name] = records.add("plan", size=size.name, title=size.title, count=count, **described)
        count, given = plans[size.name]["count"], batches[size.name]
        numbers = [at % len(given) for at in range(number * count, (number + 1) * count)]
        target = sum(len(sentence) + 1 for at in numbers for sentence in given[at]["target"])
        return {"size": size.name, "steps": count, "target": target, **child.ask("steps", batches=numbers)}

    take_turns(bench, records, contestants, turn, ready=partial(warm_up, steps=3))


def model_of(size: Size, bench: Bench, corpus: Prepared) -> dict[str, Any]:
    """Return the model of a size."""
    small = {"embedding": 16, "hidden": 16} if bench.quick and size.name == "large" else {}
    return {"vocabulary": corpus.vocabulary, **size.model, **small}


def contestants_of(size: Size, model: Mapping[str, Any], batches: str) -> list[Contestant]:
    """Return Dragoman and the textbook's loops."""
    load = {"batches": batches, "model": dict(model), "learning_rate": LEARNING_RATE}
    own = [
        Contestant(
            f"{size.name}-dragoman-{precision}",
            title,
            DRAGOMAN,
            {**load, "shared": False, "recipe": recipe(model, precision)},
            note,
        )
        for precision, title, note in (
            ("float32", "Dragoman, fp32", "through its own Trainer, threads as it chooses"),
            ("auto", "Dragoman, auto precision", "**not fp32** where its probe says so"),
        )
    ]
    loops = [("one output layer over all steps, as in the book", False), ("an output layer at each step", True)]
    threads: list[int | None] = [None, 1] if size.single else [None]
    return own + [
        Contestant(
            f"{size.name}-textbook-{'each' if each else 'once'}-{count or 'all'}",
            TEXTBOOK.title,
            TEXTBOOK,
            {**load, "each_step": each, "threads": count},
            note + (", one thread" if count == 1 else ""),
        )
        for note, each in loops
        for count in threads
    ]


def recipe(model: Mapping[str, Any], precision: str) -> dict[str, Any]:
    """Return the recipe of the same model for Dragoman; its corpora are not read."""
    phrasebook = [{"phrasebook": "train", "pairs": 1}]
    sizes = {name: model[name] for name in ("embedding", "hidden", "layers", "dropout")}
    return {
        "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": phrasebook},
        "text": {"kind": "words"},
        "model": {
            "kind": "rnn",
            "decoder": "bahdanau",
            "cell": "gru",
            "bidirectional": False,
            "score": "additive",
            "deep_output": False,
            **sizes,
        },
        "training": {
            **ENDLESS,
            "optimizer": "adam",
            "learning_rate": LEARNING_RATE,
            "label_smoothing": 0.0,
            "schedule": "constant",
            "warmup": 0,
            "precision": precision,
            "device": "cpu",
        },
    }


def batches_of(size: Size, bench: Bench) -> Path:
    """Write the batches of a size: 10 steps of made-up words for the toy, else the corpus sorted by length."""
    corpus = prepared(bench)
    path = corpus.folder / f"rows-{size.name}-{digest(asdict(size))}.json"
    if path.exists():
        return path
    rng = random.Random(1)
    if size.name == "toy":
        rows = [[[rng.randrange(4, 200) for _ in range(9)] for _ in range(2 * size.batch)] for _ in range(50)]
        found = [{"source": ids[: size.batch], "target": ids[size.batch :]} for ids in rows]
    else:
        pairs = [pair for batch in corpus.read() for pair in zip(batch["source"], batch["target"], strict=True)]
        lengths = np.array([[len(side) for side in pair] for pair in pairs], np.int32)
        order = sort_by_length(lengths[:, 0], lengths[:, 1], np.random.default_rng(1)).tolist()
        starts = list(range(0, max(len(order) - size.batch, 0) + 1, size.batch))
        rng.shuffle(starts)
        groups = [[pairs[at] for at in order[start : start + size.batch]] for start in starts]
        found = [{"source": [pair[0] for pair in group], "target": [pair[1] for pair in group]} for group in groups]
    write_text(path, json.dumps(found))
    return path


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write a table for each size."""
    lines = []
    loaded = {record["contestant"]: record for record in matching(records, what="loaded")}
    found = turns(records)
    speeds = {
        name: {number: turn["target"] / turn["seconds"] for number, turn in rounds.items()}
        for name, rounds in found.items()
    }
    for plan in {record["size"]: record for record in matching(records, what="plan")}.values():
        names = [name for name in speeds if name.startswith(plan["size"])]
        book = f"{plan['size']}-textbook-once-all"
        loops = {name: spread(list(speeds[name].values())).median for name in names if "textbook" in name}
        best = max(loops, key=loops.__getitem__, default=None)
        rows = [
            [
                loaded[name]["title"],
                f"{spread(list(speeds[name].values())):,.0f}",
                compare(speeds, name, book),
                compare(speeds, name, best),
                str(loaded[name]["threads"]),
                memory(found[name].values()),
                loaded[name]["note"]
                + (f"; {loaded[name]['precision']}" if loaded[name].get("precision") == "bfloat16" else ""),
            ]
            for name in names
        ]
        model = plan["model"]
        lines += [
            f"**{plan['title'].capitalize()}**: embeddings of {model['embedding']}, hidden {model['hidden']}, {model['layers']} "
            f"layers of GRU on both sides, additive attention, {model['vocabulary']:,} pieces, {plan['batch']} sentences a batch "
            f"({'10 steps each' if plan['size'] == 'toy' else plan['corpus'] + ', sorted by length'}), dropout 0.1, Adam; "
            f"{plan['count']} steps a turn.",
            "",
            *table(
                ["trainer", "target tokens/s", "to the book's loop", "to the best loop", "threads", "peak MB", "how"],
                rows,
            ),
        ]
    return lines
