"""Results of an arena: a row for each system and seed, their means, and whether the best is significantly better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from dragoman.arena.folder import Folder
from dragoman.arena.measuring import tested_pairs
from dragoman.arena.plan import Job, Plan
from dragoman.arena.schedule import Worker, chosen_factor
from dragoman.errors import RunError
from dragoman.metrics.significance import compare
from dragoman.runs.lock import held
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom."""
NORMAL = 1.96
"""The same for the normal distribution, from which that of more degrees of freedom is computed."""
COSTS = ("parameters", "flops", "flops_by_rule", "tokens", "seconds")
"""Numbers that are summed over the members of an ensemble."""

MEASURED = ("bleu", "bleu_low", "bleu_high", "chrf", "sentences")
"""Numbers of every result."""


@dataclass(frozen=True)
class Row:
    """One system with one seed: its measurements and its status."""

    system: str
    seed: int
    status: str
    """`done`, or why there are no numbers."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    hypotheses: Sequence[str] = ()


@dataclass(frozen=True)
class SystemResult:
    """One system over all its seeds."""

    system: str
    rows: Sequence[Row]
    members: Sequence[str] = ()
    factor: float | None = None
    """Learning-rate factor chosen by the search."""
    search: Mapping[str, float] = field(default_factory=dict)
    """Cost of the search: flops, seconds, tokens."""
    notes: Sequence[str] = ()
    """How it differs from the others, apart from its model."""
    p_value: float | None = None
    """p-value of the paired bootstrap against the best system, the largest over all seeds; None for the best."""

    @property
    def done(self) -> list[Row]:
        """Return the rows with numbers."""
        return [row for row in self.rows if row.numbers]

    @property
    def status(self) -> str:
        """Describe the status in words."""
        reasons = dict.fromkeys(row.status for row in self.rows if not row.numbers)
        if not reasons:
            return "done"
        return f"{len(self.done)} of {len(self.rows)} seeds done; " * bool(self.done) + "; ".join(reasons)

    def mean(self, number: str) -> float | None:
        """Return the mean of a number over seeds; None if it was not measured."""
        values = [row.numbers[number] for row in self.done if row.numbers.get(number) is not None]
        return float(mean(values)) if values else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95% interval of BLEU: Student's t over seeds; for one seed, the bootstrap over test sentences."""
        values = [row.numbers["bleu"] for row in self.done]
        if len(values) > 1:
            return mean(values) - half_width(values), mean(values) + half_width(values)
        return next(((row.numbers["bleu_low"], row.numbers["bleu_high"]) for row in self.done), None)


@dataclass(frozen=True)
class Outcome:
    """The data of all tables and pictures."""

    plan: Plan
    standings: Sequence[SystemResult]
    sources: Sequence[str]
    references: Sequence[str]
    signature: str
    """Signature of the paired bootstrap; empty if there was nothing to compare."""

    @property
    def best(self) -> SystemResult | None:
        """Return the system with the highest mean BLEU."""
        measured = [standing for standing in self.standings if standing.done]
        return max(measured, key=lambda standing: standing.mean("bleu") or 0.0, default=None)

    @property
    def rows(self) -> list[Row]:
        """Return all rows, system by system."""
        return [row for standing in self.standings for row in standing.rows]


def half_width(values: Sequence[float]) -> float:
    """Return half of the 95% interval of a mean, by Student's t.

    >>> round(half_width([30.0, 31.0, 32.0]), 2)
    2.48
    """
    return student(len(values) - 1) * stdev(values) / len(values) ** 0.5


def student(freedom: int) -> float:
    """Return the two-sided 95% point of Student's t, for many degrees of freedom by its expansion (Fisher and Cornish 1960).

    >>> student(2), round(student(10), 2), round(student(30), 2)
    (4.303, 2.23, 2.04)
    """
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    first, second = (NORMAL**3 + NORMAL) / 4, (5 * NORMAL**5 + 16 * NORMAL**3 + 3 * NORMAL) / 96
    return NORMAL + first / freedom + second / freedom**2


def collect(plan: Plan, folder: Folder, worker: Worker) -> Outcome:
    """Read the results of all jobs, and compare every system with the best."""
    pairs = tested_pairs(parse(Recipe, next(iter(plan.recipes.values()))))
    standings = [_standing(name, plan, folder, worker=worker) for name in plan.arena.systems]
    plain = Outcome(plan, standings, [pair.source for pair in pairs], [pair.target for pair in pairs], "")
    signature, compared = "", []
    for standing in standings:
        if plain.best is None or standing is plain.best or not standing.done:
            compared.append(standing)
            continue
        found = against(plain.best, standing, plain.references)
        signature = found[1] if found else signature
        compared.append(SystemResult(**{**vars(standing), "p_value": found[0] if found else None}))
    return Outcome(plan, compared, plain.sources, plain.references, signature)


def against(best: SystemResult, other: SystemResult, references: Sequence[str]) -> tuple[float, str] | None:
    """Return the p-value of the paired bootstrap on the same test sentences, the largest over the seeds that both have.

    It is 1 for a seed with which the other one is not worse, so that seeds that contradict each other prove nothing.
    """
    theirs = {row.seed: row.hypotheses for row in other.done}
    found = [compare(row.hypotheses, theirs[row.seed], [references]) for row in best.done if row.seed in theirs]
    p_values = [one.p_value if one.difference < 0 else 1.0 for one in found]
    return (max(p_values), found[0].signature) if found else None


def _standing(name: str, plan: Plan, folder: Folder, *, worker: Worker) -> SystemResult:
    """Assemble the results of a system."""
    system, trials = plan.arena.systems[name], [folder.result(job) for job in plan.trials(name)]
    spent = [trial for trial in trials if trial is not None]
    return SystemResult(
        name,
        [_row(job, folder, worker) for job in plan.runs(name)],
        members=system.ensemble,
        factor=chosen_factor(plan, folder, name),
        search={key: float(sum(trial[key] for trial in spent)) for key in ("flops", "seconds", "tokens")}
        if spent
        else {},
        notes=_notes(name, plan),
    )


def _row(job: Job, folder: Folder, worker: Worker) -> Row:
    """Read one row. The costs of an ensemble are the sums over its members, its memory their maximum."""
    numbers = folder.result(job)
    if numbers is None:
        return Row(job.system, job.seed, _status(job, folder, worker))
    _complete(numbers, folder.run(job), *MEASURED, *(() if job.members else COSTS))
    parts = [
        _complete(found, folder.run(member), *COSTS, "memory")
        for member in job.members
        if (found := folder.result(member)) is not None
    ]
    if parts:
        numbers |= {key: sum(part[key] for part in parts) for key in COSTS}
        numbers["memory"] = max((part["memory"] for part in parts if part["memory"] is not None), default=None)
    return Row(job.system, job.seed, "done", numbers, _hypotheses(folder.run(job), numbers["sentences"]))


def _complete(found: dict[str, Any], folder: Path, *names: str) -> dict[str, Any]:
    """Return a result. Raises RunError if it lacks one of these numbers."""
    if not all(name in found for name in names):
        raise RunError(
            f"{folder / 'result.json'} is damaged; remove it, and run the same command, which measures it again"
        )
    return found


def _hypotheses(folder: Path, sentences: int) -> list[str]:
    """Read the translations of as many test sentences as were measured. Raises RunError if they are missing or damaged."""
    path = folder / "hypotheses.txt"
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        lines = []
    if len(lines) != sentences:
        raise RunError(
            f"{path} is missing or damaged; remove {folder / 'result.json'} and run the same command, which measures it again"
        )
    return lines


def _status(job: Job, folder: Folder, worker: Worker) -> str:
    """Describe why a job has no result."""
    if (reason := worker.blocked(job)) is not None:
        return f"failed: {reason}"
    if held(folder.file(job, ".lock")):
        return "under way"
    return "stopped" if (folder.run(job) / "manifest.json").exists() else "not begun"


def _notes(name: str, plan: Plan) -> list[str]:
    """Describe how a system differs from the arena's base, apart from model and training."""
    recipe = plan.recipes.get(name)
    if recipe is None:
        return [f"ensemble of {', '.join(plan.arena.systems[name].ensemble)}"]
    notes = []
    for section, words in (("text", "its own vocabulary"), ("decoding", "its own search")):
        shared = [_unsampled(other.get(section)) for other in plan.recipes.values()]
        most = max(shared, key=shared.count)
        if _unsampled(recipe.get(section)) != most:
            kind = f" ({recipe[section].get('kind')})" if section == "text" and recipe.get(section) else ""
            notes.append(f"{words}{kind}")
    return notes


def _unsampled(section: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a section of a recipe without how text is sampled, on which no vocabulary depends."""
    return {name: value for name, value in (section or {}).items() if not name.startswith("sampling")}
