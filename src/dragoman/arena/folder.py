"""Where the files of an arena stand, and what they say of each job."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.arena.plan import Job
from dragoman.atomic import write_text
from dragoman.errors import RunError, SettingsError


@dataclass(frozen=True)
class Folder:
    """The folder of an arena: `runs/SYSTEM/PART` for what is made, `jobs/SYSTEM/PART.*` for what is known of the work."""

    path: Path

    def run(self, job: Job | str) -> Path:
        """Return the folder of a job: a run, or what was measured of an ensemble."""
        return self.path / "runs" / (job if isinstance(job, str) else job.name)

    def file(self, job: Job, suffix: str) -> Path:
        """Return a file beside the job: `.json` what to do, `.lock` who does it, `.log` what it said, `.failed` why not."""
        return self.path / "jobs" / f"{job.name}{suffix}"

    def result(self, job: Job | str) -> dict[str, Any] | None:
        """Return what a job found, if it is done."""
        return _read(self.run(job) / "result.json")

    def done(self, job: Job | str) -> bool:
        """Tell whether a job has its result, which is written whole."""
        return (self.run(job) / "result.json").exists()

    def failure(self, job: Job) -> str | None:
        """Return why a job failed, if it did."""
        found = _read(self.file(job, ".failed"))
        return None if found is None else str(found["sentence"])

    def fail(self, job: Job, sentence: str) -> None:
        """Note why a job failed."""
        self.file(job, ".failed").parent.mkdir(parents=True, exist_ok=True)
        write_text(self.file(job, ".failed"), json.dumps({"sentence": sentence}, ensure_ascii=False) + "\n")

    def clear_failure(self, job: Job) -> None:
        """Let a failed job be tried again."""
        self.file(job, ".failed").unlink(missing_ok=True)

    def prepare(self, jobs: Iterable[Job]) -> None:
        """Make the folder. SettingsError where it holds a job with other settings: results would not belong together."""
        for job in jobs:
            before = _read(self.file(job, ".json"))
            if before is not None and before["planned"] != _planned(job):
                raise SettingsError(
                    f"{self.run(job)} was made with other settings than the arena has now; choose another folder with --out, "
                    "or bring the settings back"
                )
        try:
            for place in (self.path / "jobs", self.path / "runs"):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{self.path} cannot be made ({error.strerror}); choose another folder with --out") from None

    def describe(self, job: Job, recipe: dict[str, Any], sentence: str | None) -> Path:
        """Write what a job's process has to do, and return the file."""
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
    """Return what decides on a job's result, as JSON gives it back."""
    return json.loads(json.dumps({"recipe": job.recipe, "members": job.members, "needs": job.needs}, default=str))


def _read(path: Path) -> dict[str, Any] | None:
    """Read a file of JSON; None where there is none, or a damaged one."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
