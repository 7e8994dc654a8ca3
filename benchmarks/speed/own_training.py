"""Dragoman as its users start it: `dragoman train`, watched from outside, then `dragoman translate`."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.calibration import pauses
from benchmarks.speed.children import ROOT, WAITING, PeerError, end

from dragoman.training.reports import MetricsFile


def train(
    recipe: str, settings: Mapping[str, Any], folder: Path, *, log: Path, every: float, sources: Sequence[str]
) -> dict[str, Any]:
    """Train a recipe in a process of its own, and translate sentences greedily with what it kept. PeerError where it fails.

    The process is held every so many seconds for the matrix product; what it prints goes to `log`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dragoman", "train", recipe, *words, "--out", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=_environment(),
            process_group=0,
        )
        try:
            with pauses(process.pid, every) as during:
                code = process.wait()
        finally:
            end(process)
    whole = time.perf_counter() - begin
    if code:
        raise PeerError(f"`dragoman train` ended with code {code}: {_last(log.read_text(encoding='utf-8'))}")
    records = MetricsFile(folder / "metrics.jsonl").read()
    found = curve(records)
    steps = [record for record in records if "loss" in record]
    return {
        "curve": found,
        "whole": whole,
        "seconds": found[-1]["seconds"],
        "validating": found[-1]["seconds"] - found[-1]["training"],
        "steps": steps[-1]["step"],
        "epochs": steps[-1]["epoch"],
        "target": steps[-1]["tokens"],
        "during": during,
        "hypotheses": translate(folder, sources),
    }


def curve(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return time and dev BLEU of each validation: seconds with all validations so far, and without (`training`).

    Every step must have a record, so that what passes between one and a validation is the validation's.

    >>> step, checked = {"loss": 1.0, "seconds": 10.0}, {"dev_bleu": 3.0, "seconds": 12.0}
    >>> curve([step, checked, {"loss": 0.9, "seconds": 20.0}, {"dev_bleu": 5.0, "seconds": 23.0}])[1]
    {'seconds': 23.0, 'training': 18.0, 'bleu': 5.0}
    """
    points, spent, last = [], 0.0, 0.0
    for record in records:
        if "averaged" in record:
            continue
        if "dev_bleu" in record:
            spent += record["seconds"] - last
            at = {"seconds": record["seconds"], "training": record["seconds"] - spent}
            points.append({**at, "bleu": record["dev_bleu"]})
        last = record["seconds"]
    return points


def translate(folder: Path, sources: Sequence[str]) -> list[str]:
    """Translate sentences greedily from a run."""
    command = [sys.executable, "-m", "dragoman", "translate", str(folder), "--beam", "1", "--engine", "torch"]
    given = "".join(f"{source}\n" for source in sources)
    found = subprocess.run(command, input=given, env=_environment(), capture_output=True, text=True)
    if found.returncode:
        raise PeerError(f"`dragoman translate` ended with code {found.returncode}: {_last(found.stderr)}")
    return found.stdout.split("\n")[:-1]


def _environment() -> dict[str, str]:
    """Return the environment of a process that finds Dragoman, and waits as on an idle machine: what ran before has ended."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **WAITING, "PYTHONPATH": path}


def _last(text: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
