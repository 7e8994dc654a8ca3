"""How long a user waits for a fresh process: help, import, and the first translation of a small model."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.bench import Bench, about
from benchmarks.speed.children import ROOT
from benchmarks.speed.page import table
from benchmarks.speed.parts.train import MODEL, QUICK, prepared
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import percentile, spread

from dragoman.errors import InputError
from dragoman.fitting import fit
from dragoman.recipe import Recipe
from dragoman.settings import parse

TITLE = "Start-up"
TIMES = 4
"""Turns of each command in a round."""
SENTENCE = "Two men are playing in the snow.\n"

COMMANDS = {
    "python": ("Python alone: `python -c pass`", ["-c", "pass"]),
    "torch": ("`import torch`, which every translation needs", ["-c", "import torch"]),
    "import": ("`import dragoman`", ["-c", "import dragoman"]),
    "help": ("`dragoman --help`", ["-m", "dragoman", "--help"]),
    "translate": (
        "first translation: `dragoman translate RUN`, a sentence from standard input",
        ["-m", "dragoman", "translate"],
    ),
}
"""Title and arguments; `translate` is also given the run."""


def run(bench: Bench) -> None:
    """Measure what has no record yet: each command once in turn, many times."""
    size = QUICK if bench.quick else MODEL
    rounds = 2 if bench.quick else bench.rounds * TIMES
    records = bench.records("startup", {"model": size, "commands": COMMANDS})
    if all(len(records.all("turn", contestant=name)) >= rounds for name in COMMANDS):
        return
    folder = small_run(bench)
    records.add("about", **about())
    for number in range(rounds):
        bench.say(f"startup: round {number + 1} of {rounds}")
        for name, (title, arguments) in COMMANDS.items():
            if not records.all("turn", contestant=name, round=number):
                seconds = started([*arguments, *([str(folder)] if name == "translate" else [])])
                records.add("turn", contestant=name, title=title, round=number, seconds=seconds)


def small_run(bench: Bench) -> Path:
    """Train a small model for one step, unless that was done: what it translates does not matter, how long it takes does."""
    corpus = prepared(bench)
    folder = bench.work / "runs" / f"small-{corpus.fingerprint}"
    if (folder / "model.safetensors").exists():
        return folder.resolve()
    size = QUICK if bench.quick else MODEL
    layers = {"encoder_layers": size["layers"], "decoder_layers": size["layers"]}
    sizes = {name: size[name] for name in ("width", "feed_forward", "heads")}
    phrasebook = [{"phrasebook": "train", "pairs": 10_000}]
    table = {
        "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": [{"phrasebook": "dev", "pairs": 2}]},
        "text": {"kind": "sentencepiece", "size": 600 if bench.quick else 2000},
        "model": {"kind": "transformer", **layers, **sizes},
        "training": {"steps": 1, "batch_tokens": 400, "metric": "loss", "device": "cpu"},
        "decoding": {"maximum_extra": 5},
    }
    fit(parse(Recipe, table), folder)
    return folder.resolve()


def started(arguments: Sequence[str]) -> float:
    """Return how long a fresh Python takes from its start to its end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    begin = time.perf_counter()
    found = subprocess.run(
        [sys.executable, *arguments], input=SENTENCE, env=environment, capture_output=True, text=True
    )
    seconds = time.perf_counter() - begin
    if found.returncode:
        raise InputError(f"`python {' '.join(arguments)}` failed: {found.stderr.strip()[-300:]}")
    return seconds


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write the table."""
    rows = []
    for name in COMMANDS:
        turns = matching(records, what="turn", contestant=name)
        if turns:
            seconds = [turn["seconds"] for turn in turns]
            rows.append(
                [turns[0]["title"], f"{spread(seconds):.2f}", f"{percentile(seconds, 99):.2f}", str(len(seconds))]
            )
    return [
        "Seconds from the start of a fresh process to its end, files in the disk's cache; the model is that of training above "
        "with a vocabulary of 2,000 pieces.",
        "",
        *table(["what", "seconds p50", "p99", "times"], rows),
    ]
