"""One training of the atlas in a process of its own: `python -m benchmarks.atlas.job JOB.json` trains, measures, writes.

A training that was stopped goes on where it was; one that is finished is only measured. Leaves with 0 when the result is
written, with 2 and a sentence for settings that are refused or training that broke, with 130 when stopped.
"""

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.atlas.agreed import METHOD, ROOT, SHOWN, STOPPED
from benchmarks.atlas.corpora import load_pairs
from benchmarks.atlas.measuring import measure, show

from dragoman.errors import DragomanError
from dragoman.fitting import fit
from dragoman.recipe import Recipe
from dragoman.run import versions, write_text
from dragoman.settings import parse
from dragoman.training.reports import MetricsFile
from dragoman.translator import Translator


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
    before = memory()
    progress = fit(recipe, folder, resume=resume)
    if not progress.finished:
        return None
    speeds = [
        record["tokens_per_second"] for record in MetricsFile(folder / "metrics.jsonl").read() if "loss" in record
    ]
    peak = memory()
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


def memory() -> float:
    """Return the most memory that this process has taken so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def commit() -> str:
    """Return the commit of the code, with a `+` where source files have changed since; `unknown` outside of git."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        return f"{name}+" if _git("status", "--porcelain", "--", "src") else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    """Ask git."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> str:
    """Name the processor and its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def main() -> None:
    """Read the job, and say what went wrong in one sentence."""
    try:
        sys.exit(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    except DragomanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
