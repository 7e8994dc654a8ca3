"""How long a user waits for a fresh process: help, import, and the first translation of a small model."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, begin_sitting, code, own_folder
from benchmarks.speed.children import ROOT
from benchmarks.speed.page import table
from benchmarks.speed.parts.train import DRAGOMAN, MODEL, QUICK
from benchmarks.speed.records import Record, Records, matching
from benchmarks.speed.statistics import spread, tail

from dragoman.conversion.job import export
from dragoman.errors import InputError
from dragoman.inference.ctranslate2.folder import is_export
from dragoman.jobs.train import fit
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse

TITLE = "Start-up"
TIMES = 4
"""Turns of each command in a round."""
SENTENCE = "Two men are playing in the snow.\n"

COMMANDS = {
    "python": ("Python alone: `python -c pass`", ["-c", "pass"]),
    "import": ("`import dragoman`", ["-c", "import dragoman"]),
    "help": ("`dragoman --help`", ["-m", "dragoman", "--help"]),
    "export": ("first translation with an int8 export: `dragoman translate EXPORT`", ["-m", "dragoman", "translate"]),
    "torch": ("`import torch`, which a run without an export needs", ["-c", "import torch"]),
    "translate": (
        "first translation with a run: `dragoman translate RUN --engine torch`",
        ["-m", "dragoman", "translate", "--engine", "torch"],
    ),
}
"""Title and arguments; `translate` and `export` are also given the folder."""
FOLDERS = ("translate", "export")
GOALS = {"help": 0.3, "export": 1.5}
"""Seconds."""


def run(bench: Bench) -> None:
    """Measure what has no record yet: each command once in turn, many times."""
    if not bench.wants(DRAGOMAN):
        return
    rounds = 2 if bench.quick else bench.rounds * TIMES
    recipe = recipe_of(QUICK if bench.quick else MODEL, 600 if bench.quick else 2000)
    records = bench.records("startup", {"recipe": recipe, "commands": COMMANDS}, of_peers=False)
    if all(finished(records, name, rounds) for name in COMMANDS):
        return
    sitting = begin_sitting(records)
    folders = {"translate": small_run(bench, recipe)}
    try:
        folders["export"] = exported(folders["translate"])
    except InputError as error:
        records.add("skipped", contestant="export", title=COMMANDS["export"][0], reason=str(error))
    wanted = {name: command for name, command in COMMANDS.items() if name in folders or name not in FOLDERS}
    for number in range(rounds):
        bench.say(f"startup: round {number + 1} of {rounds}")
        for name, (title, arguments) in wanted.items():
            if not records.all("turn", contestant=name, round=number):
                seconds = started([*arguments, *([str(folders[name])] if name in FOLDERS else [])])
                records.add("turn", contestant=name, title=title, round=number, sitting=sitting, seconds=seconds)


def finished(records: Records, name: str, rounds: int) -> bool:
    """Say whether a command has been measured so often, or was skipped."""
    return len(records.all("turn", contestant=name)) >= rounds or bool(records.all("skipped", contestant=name))


def small_run(bench: Bench, recipe: Mapping[str, Any]) -> Path:
    """Train a small model for one step, unless that was done: what it translates does not matter, how long it takes does."""
    folder = own_folder(bench.work / "runs", "startup-quick" if bench.quick else "startup", [recipe, code()])
    if not (folder / "model.safetensors").exists():
        fit(parse(Recipe, recipe), folder)
    return folder.resolve()


def exported(folder: Path) -> Path:
    """Return the int8 export of a run, made unless it is there. InputError where CTranslate2 is not installed."""
    place = folder / "exports" / "ctranslate2-int8"
    return place if is_export(place) else export(folder, quantization="int8")[0]


def recipe_of(size: Mapping[str, Any], pieces: int) -> dict[str, Any]:
    """Return the recipe of the small model."""
    layers = {"encoder_layers": size["layers"], "decoder_layers": size["layers"]}
    sizes = {name: size[name] for name in ("width", "feed_forward", "heads")}
    phrasebook = [{"phrasebook": "train", "pairs": 10_000}]
    return {
        "data": {"source": "en", "target": "fr", "train": phrasebook, "dev": [{"phrasebook": "dev", "pairs": 2}]},
        "text": {"kind": "sentencepiece", "size": pieces},
        "model": {"kind": "transformer", **layers, **sizes},
        "training": {"steps": 1, "batch_tokens": 400, "metric": "loss", "device": "cpu"},
        "decoding": {"maximum_extra": 5},
    }


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
    rows, names = [], set()
    for name in COMMANDS:
        turns = matching(records, what="turn", contestant=name)
        if turns:
            seconds = [turn["seconds"] for turn in turns]
            called, most = tail(seconds)
            names.add(called)
            goal = f"{GOALS[name]:g}" if name in GOALS else "-"
            rows.append([turns[0]["title"], f"{spread(seconds):.2f}", f"{most:.2f}", str(len(seconds)), goal])
    return [
        "Seconds from the start of a fresh process to its end, files in the disk's cache. A translation is of one sentence from "
        "standard input with the default beam of 5; the model is that of training above with a vocabulary of 2,000 pieces.",
        "",
        *table(["what", "seconds p50", " or ".join(sorted(names)), "times", "goal"], rows),
    ]
