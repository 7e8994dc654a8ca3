"""The files of an arena, and what they say about each job."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.arena.plan import Job
from dragoman.atomic import write_text
from dragoman.errors import RunError, SettingsError
from dragoman.json_files import load_json, parse_json

WRITTEN = ("manifest.json", "runs", "table.csv", "table.html", "table.md")
"""What is written into the folder of an arena besides the state of the work."""


@dataclass(frozen=True)
class Folder:
    """The folder of an arena: `runs/SYSTEM/PART` for results, `jobs/SYSTEM/PART.*` for the state of the work."""

    path: Path

    def run(self, job: Job | str) -> Path:
        """Return the folder of a job: a run, or the measurements of an ensemble."""
        return self.path / "runs" / (job if isinstance(job, str) else job.name)

    def file(self, job: Job, suffix: str) -> Path:
        """Return a file about the job: `.json` its task, `.lock` its worker, `.log` its output, `.failed` why it failed."""
        return self.path / "jobs" / f"{job.name}{suffix}"

    def result(self, job: Job | str) -> dict[str, Any] | None:
        """Return the result of a job, if it is done."""
        return _read(self.run(job) / "result.json")

    def done(self, job: Job | str) -> bool:
        """Tell whether a job has its result; one that was damaged is measured again."""
        return self.result(job) is not None

    def failure(self, job: Job) -> str | None:
        """Return why a job failed, if it did."""
        found = _read(self.file(job, ".failed"))
        return None if found is None else str(found["sentence"])

    def fail(self, job: Job, sentence: str) -> None:
        """Record why a job failed."""
        self.file(job, ".failed").parent.mkdir(parents=True, exist_ok=True)
        write_text(self.file(job, ".failed"), json.dumps({"sentence": sentence}, ensure_ascii=False) + "\n")

    def clear_failure(self, job: Job) -> None:
        """Allow a failed job to be retried."""
        self.file(job, ".failed").unlink(missing_ok=True)

    def prepare(self, jobs: Iterable[Job]) -> None:
        """Create the folder. Raises SettingsError if it contains a job with other settings, RunError if it is not an arena's."""
        other = [name for name in WRITTEN if (self.path / name).exists()]
        if other and not (self.path / "jobs").exists():
            raise RunError(
                f"{self.path} holds something else, whose `{other[0]}` would be replaced; choose another folder with --out"
            )
        for job in jobs:
            before = _read(self.file(job, ".json"))
            if before is not None and before["planned"] != _planned(job):
                raise SettingsError(
                    f"{self.run(job)} was made with settings other than the arena's; choose another folder with --out, "
                    f"give the system `{job.system}` another name, or restore the settings"
                )
        try:
            for place in (self.path / "jobs", self.path / "runs"):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be created ({error.strerror}); choose another folder with --out"
            ) from None

    def describe(self, job: Job, recipe: dict[str, Any], sentence: str | None) -> Path:
        """Write the task of a job's process, and return the file."""
        table = {
            "kind": "trial" if job.is_trial else "ensemble" if job.members else "training",
            "name": job.name,
            "folder": str(self.run(job)),
            "members": [str(self.run(member)) for member in job.members],
            "recipe": recipe,
            "planned": _planned(job),
            "sentence": sentence,
        }
        path = self.file(job, ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(table, ensure_ascii=False, indent=1) + "\n")
        return path


def _planned(job: Job) -> Any:
    """Return everything that determines a job's result, as read back from JSON."""
    return parse_json(json.dumps({"recipe": job.recipe, "members": job.members, "needs": job.needs}, default=str))


def _read(path: Path) -> dict[str, Any] | None:
    """Read the table in a JSON file; None if it is missing or damaged."""
    try:
        found = load_json(path)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
