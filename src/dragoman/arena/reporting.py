"""Write the results of an arena: table.md, table.html, table.csv, pictures, and the manifest."""

import json
import time
from pathlib import Path
from typing import Any

from dragoman.arena.folder import Folder
from dragoman.arena.page import page
from dragoman.arena.pictures import write_pictures
from dragoman.arena.plan import Plan
from dragoman.arena.results import Outcome, collect
from dragoman.arena.schedule import Worker
from dragoman.arena.tables import csv_table, markdown
from dragoman.atomic import write_text
from dragoman.machine.provenance import commit, machine, versions
from dragoman.runs.lock import claim


def write_outcome(plan: Plan, folder: Folder, worker: Worker) -> Outcome:
    """Write all files into the arena's folder, one process at a time if several finish together."""
    lock = folder.path / "jobs" / "report.lock"
    while (mine := claim(lock)) is None:
        time.sleep(0.2)
    try:
        outcome = collect(plan, folder, worker)
        write_text(folder.path / "table.csv", csv_table(outcome))
        write_text(folder.path / "table.md", markdown(outcome))
        write_text(folder.path / "table.html", page(outcome, write_pictures(outcome, folder)))
        described = json.dumps(manifest(outcome, folder), indent=1, ensure_ascii=False, default=str)
        write_text(folder.path / "manifest.json", described + "\n")
    finally:
        mine.release()
    return outcome


def manifest(outcome: Outcome, folder: Folder) -> dict[str, Any]:
    """Return everything the comparison depends on (arena, recipes, code, machine, data) and every number."""
    numbers = [row.numbers for row in outcome.rows if row.numbers]
    return {
        "arena": outcome.plan.arena.model_dump(mode="json"),
        "recipes": outcome.plan.recipes,
        "learning_rate_factors": {one.system: one.factor for one in outcome.standings if one.factor is not None},
        "search": {one.system: dict(one.search) for one in outcome.standings if one.search},
        "trials": {job.name: folder.result(job) or folder.failure(job) for job in outcome.plan.jobs if job.is_trial},
        "commit": commit(),
        "machine": machine(),
        **versions(),
        "data": next((one["data"] for one in numbers if "data" in one), {}),
        "signatures": {
            **next((one["signatures"] for one in numbers), {}),
            "paired bootstrap": outcome.signature,
        },
        "results": [
            {"system": row.system, "seed": row.seed, "status": row.status}
            | {name: value for name, value in row.numbers.items() if name not in ("attention", "data", "versions")}
            for row in outcome.rows
        ],
        "p_values": {one.system: one.p_value for one in outcome.standings if one.p_value is not None},
    }


def default_folder(name: str, *, quick: bool) -> Path:
    """Return the default folder of an arena.

    >>> default_folder("recipes/arena-mine.yaml", quick=True).as_posix()
    'runs/arena-mine-quick'
    """
    return Path("runs") / (Path(name).stem + "-quick" * quick)
