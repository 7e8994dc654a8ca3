"""One training of the sweep in its own process: `python -m benchmarks.quality.job JOB.json` trains, measures, writes.

Exits with 0 when the result is written, with 2 and a sentence if settings are refused or training fails, with 130 when stopped;
a training that was stopped resumes.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.quality.peer import train_peer
from benchmarks.schedule import STOPPED, do

from dragoman.atomic import write_text
from dragoman.jobs.evaluate import measure_tests
from dragoman.jobs.train import fit
from dragoman.machine.provenance import commit, machine, versions
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.training.reports import MetricsFile


def run(job: dict[str, Any]) -> int:
    """Do the job, and return the exit code."""
    measured = train_peer(job) if "peer" in job["recipe"] else _train(job)
    if measured is None:
        return STOPPED
    result = {name: job[name] for name in ("corpus", "variant", "budget", "threads", "seed", "key")} | measured
    folder = Path(job["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    about = {"commit": commit(), "machine": machine()}
    write_text(folder / "result.json", json.dumps(result | about, ensure_ascii=False) + "\n")
    shutil.rmtree(folder / "training", ignore_errors=True)
    return 0


def _train(job: dict[str, Any]) -> dict[str, Any] | None:
    """Train Dragoman, and return what was measured, or None if it was stopped."""
    folder = Path(job["folder"])
    recipe = parse(Recipe, job["recipe"], where=job["variant"])
    progress = fit(recipe, folder, resume=(folder / "manifest.json").exists())
    if not progress.finished:
        return None
    scores = measure_tests(folder)
    settled = open_run(folder)
    records = MetricsFile(folder / "metrics.jsonl").read()
    return {
        "bleu": {name: scores[path][0].score for name, path in zip(job["tests"], scores, strict=True)},
        "chrf": {name: scores[path][1].score for name, path in zip(job["tests"], scores, strict=True)},
        "signature": next(iter(scores.values()))[0].signature,
        "dev_loss": min(record["dev_loss"] for record in records if "dev_loss" in record),
        "steps": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "epochs": next((record["epoch"] for record in reversed(records) if "epoch" in record), None),
        "parameters": settled.manifest["cost"]["parameters"],
        "precision": settled.manifest["precision"],
        "settings": {part: settled.recipe.model_dump(mode="json")[part] for part in ("text", "model", "training")},
        "versions": versions(),
    }


if __name__ == "__main__":
    do(run)
