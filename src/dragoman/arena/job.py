"""One job of an arena in its own process: `python -m dragoman.arena.job JOB.json` trains, measures, writes result.json.

Stopped training is resumed; finished training is only measured. Exits with 0 when the result is written, with 2 and a
message if settings are refused or training fails, and with 130 when stopped.
"""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.errors import RunError
from dragoman.json_files import load_json, read_object

STOPPED = 130
"""Exit code of a job that was stopped and can be resumed."""


def run(job: Mapping[str, Any]) -> int:
    """Run the job and return the exit code."""
    from dragoman.arena.measuring import measure
    from dragoman.atomic import write_text
    from dragoman.data.ledger import remove_recorded
    from dragoman.training.files import RunFiles

    folder = Path(job["folder"])
    if job["kind"] == "ensemble":
        folder.mkdir(parents=True, exist_ok=True)
        result: dict[str, Any] = {}
    else:
        trained = folder / "trained.json"
        if not trained.exists():
            numbers = train(job["recipe"], folder, name=job["name"])
            if numbers is None:
                return STOPPED
            write_text(trained, json.dumps(numbers, indent=1) + "\n")
            remove_recorded(folder, RunFiles(folder).last)  # or `dragoman verify` would miss it
            shutil.rmtree(folder / "training", ignore_errors=True)
        result = read_object(trained, RunError, missing="", damaged=f"remove {folder} and add --retry to train again")
    if job["kind"] != "trial":
        members = [Path(member) for member in job["members"]] or [folder]
        result |= measure(members, job["recipe"], folder, sentence=job["sentence"])
    write_text(folder / "result.json", json.dumps(result, ensure_ascii=False) + "\n")
    return 0


def train(table: Mapping[str, Any], folder: Path, *, name: str) -> dict[str, Any] | None:
    """Start or resume training; return its cost and dev scores, or None if it was stopped."""
    from dragoman.jobs.train import fit
    from dragoman.machine.provenance import commit, machine, versions
    from dragoman.runs.folder import read_manifest
    from dragoman.runs.recipe import Recipe
    from dragoman.settings import parse
    from dragoman.training.reports import MetricsFile

    recipe = parse(Recipe, table, where=f"the system of {name}")
    progress = fit(recipe, folder, resume=(folder / "manifest.json").exists())
    if not progress.finished:
        return None
    on_dev = [record for record in MetricsFile(folder / "metrics.jsonl").read() if "dev_loss" in record]
    manifest = read_manifest(folder)
    cost = manifest["cost"]
    return {
        "parameters": cost["parameters"],
        "flops": round(progress.flops),
        "flops_by_rule": round(cost["estimated_flops"]),
        "rate": cost["sustained_rate"],
        "tokens": progress.tokens,
        "steps": progress.step,
        "seconds": round(progress.seconds, 1),
        "memory": None if cost["peak_memory"] is None else round(cost["peak_memory"] / 1e6, 1),
        "dev_loss": min(record["dev_loss"] for record in on_dev),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "data": manifest.get("data", {}),
    }


def stop_with_parent() -> None:
    """Save and stop when the parent process is gone, which closes its end of standard input."""

    def wait() -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Read the job and run it; report errors in one sentence."""
    from dragoman.errors import DragomanError

    if "--watched" in sys.argv:
        stop_with_parent()
    try:
        sys.exit(run(load_json(Path(sys.argv[1]))))
    except DragomanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
