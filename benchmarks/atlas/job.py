"""One training of the atlas in a process of its own: `python -m benchmarks.atlas.job JOB.json` trains, measures, writes.

A training that was stopped resumes where it was; one that is finished is only measured. Leaves with 0 when the result is
written, with 2 and a sentence for settings that are refused or training that broke, with 130 when stopped.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

import torch
from benchmarks.atlas.agreed import METHOD, SHOWN
from benchmarks.atlas.corpora import load_pairs
from benchmarks.atlas.measuring import measure, show
from benchmarks.schedule import STOPPED, do

from dragoman.atomic import write_text
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.machine.devices import peak_memory
from dragoman.machine.provenance import commit, machine, versions
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.training.reports import MetricsFile


def run(job: dict[str, Any]) -> int:
    """Do the job, and return the exit code."""
    folder = Path(job["folder"])
    trained = folder / "trained.json"
    if not trained.exists():
        numbers = train(parse(Recipe, job["recipe"], where=f"the kind `{job['kind']}`"), folder)
        if numbers is None:
            return STOPPED
        write_text(trained, json.dumps(numbers, indent=2) + "\n")
        shutil.rmtree(folder / "training")
    translator = Translator.load(folder, device="cpu")
    found = measure(translator, *load_pairs(Path(job["pairs"])))
    if job["show"] and "aer_view" in found:
        found["pictures"] = show(translator, found["aer_view"])
    about = {name: job[name] for name in ("kind", "corpus", "seed", "key", "recipe")} | {"method": [METHOD, SHOWN]}
    result = {**about, **json.loads(trained.read_text(encoding="utf-8")), **found}
    write_text(folder / "result.json", json.dumps(result, ensure_ascii=False) + "\n")
    return 0


def train(recipe: Recipe, folder: Path) -> dict[str, Any] | None:
    """Train, or go on training, and return what it cost; None where it was stopped."""
    resume = (folder / "training" / "last.safetensors").exists()
    if not resume and folder.exists():
        shutil.rmtree(folder)
    before = megabytes_taken()
    progress = fit(recipe, folder, resume=resume)
    if not progress.finished:
        return None
    speeds = [
        record["tokens_per_second"] for record in MetricsFile(folder / "metrics.jsonl").read() if "loss" in record
    ]
    peak = megabytes_taken()
    model = Translator.load(folder, device="cpu").models[0]
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "tokens_per_second": fast(speeds),
        "memory": peak,
        "memory_before": before,
        "steps": progress.step,
        "seconds": round(progress.seconds, 1),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
    }


def fast(speeds: Sequence[float]) -> float:
    """Return the speed that a tenth of the records reach or exceed: what else the machine does can only slow a training.

    >>> fast([5.0, 1.0, 5.0, 5.0, 1.0, 5.0, 1.0, 5.0, 5.0, 5.0])
    5.0
    """
    return quantiles(speeds, n=10, method="inclusive")[-1] if len(speeds) > 1 else speeds[0]


def megabytes_taken() -> float:
    """Return the most memory that this process has taken so far, in MB."""
    return round((peak_memory(torch.device("cpu")) or 0) / 1e6, 1)


if __name__ == "__main__":
    do(run)
