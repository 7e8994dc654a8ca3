"""From an arena to its jobs: the recipe of every system, and the dependencies between jobs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from dragoman.arena.settings import BUDGETS, ArenaSettings, SystemSettings
from dragoman.data.corpus import read_pairs
from dragoman.errors import DragomanError, SettingsError
from dragoman.jobs.checks import check_corpora, check_recipe, check_tied, smallest_outline
from dragoman.models.build import purpose_of
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe, find_recipe, tables_of, with_auto_sections
from dragoman.settings import AUTO, merge, nearest, parse

OWN = ("text", "model", "training")
"""Sections of a system's recipe that override the base."""


@dataclass(frozen=True)
class Job:
    """One job: a trial of a learning rate, a training with its evaluation, or the evaluation of an ensemble."""

    system: str
    part: str
    seed: int
    recipe: Mapping[str, Any] = field(compare=False)
    """The recipe before a learning rate is chosen; for an ensemble, that of its first member."""
    factor: float | None = None
    """For a trial: the factor of its learning rate."""
    members: tuple[str, ...] = ()
    """For an ensemble: the names of the jobs whose models translate together."""
    needs: tuple[str, ...] = ()
    """Names of the jobs that must be done first."""

    @property
    def name(self) -> str:
        """Return the name of the job, which is also its path below a folder."""
        return f"{self.system}/{self.part}"

    @property
    def is_trial(self) -> bool:
        """Tell whether this is a trial of a learning rate."""
        return self.factor is not None


@dataclass(frozen=True)
class Plan:
    """All jobs of an arena, in the order of work."""

    arena: ArenaSettings
    recipes: Mapping[str, Mapping[str, Any]]
    """The recipe of each trained system, with the first seed."""
    jobs: tuple[Job, ...]

    def trials(self, system: str) -> list[Job]:
        """Return the trials of a system."""
        return [job for job in self.jobs if job.system == system and job.is_trial]

    def runs(self, system: str) -> list[Job]:
        """Return the jobs of a system that have a row in the table, one for each seed."""
        return [job for job in self.jobs if job.system == system and not job.is_trial]


def make_plan(arena: ArenaSettings) -> Plan:
    """Merge every system's recipe into the base, check all of them, and list the jobs.

    Raises SettingsError for a recipe that does not fit, an unknown name, and an ensemble whose members have different target
    vocabularies.
    """
    base = _base(arena)
    recipes = {
        name: _recipe(name, system, base, arena=arena) for name, system in arena.systems.items() if not system.ensemble
    }
    for name, recipe in recipes.items():
        checked = parse(Recipe, recipe, where=f"the system `{name}`")
        if purpose_of(checked.model) != "translate":
            raise SettingsError(
                f"the system `{name}` is a model of the kind `{checked.model.kind}`, which does not translate; remove it"
            )
        try:
            check_corpora(checked)
            check_recipe(checked)
        except SettingsError as error:
            raise SettingsError(f"the system `{name}`: {error}") from None
        if arena.search is not None and "training.learning_rate" in checked.auto:
            raise SettingsError(
                f"the system `{name}` leaves `training.learning_rate` to `auto`, which `search` cannot multiply; set a rate, or "
                "remove `search`"
            )
        if not checked.data.test:
            raise SettingsError("the arena has no test corpus; set `base.data.test`")
    for name, system in arena.systems.items():
        _check_ensemble(name, system, recipes)
    jobs = sorted(_jobs(arena, recipes), key=lambda job: (not job.is_trial, arena.seeds.index(job.seed)))
    return Plan(arena, recipes, tuple(jobs))


def check_models(plan: Plan) -> None:
    """Raise SettingsError for a system whose model cannot be built, which would be found out when its turn comes.

    One that is too large for this machine is found out then: it may be trained on another.
    """
    for name, recipe in plan.recipes.items():
        checked = parse(Recipe, recipe)
        try:
            for folder in {} if checked.model.start_from is None else checked.model.start_from.runs.values():
                open_run(folder)
            check_tied(checked)
            if not any(path.startswith(("model.", "text.")) for path in checked.auto):
                with suppress(RuntimeError, OverflowError):
                    smallest_outline(checked)
        except DragomanError as error:
            raise SettingsError(f"the system `{name}`: {error}") from None


def check_data(plan: Plan) -> None:
    """Read what all systems share: the dev and test corpora, and the beginning of those for training.

    Raises CorpusError for a corpus that cannot be read.
    """
    data = parse(Recipe, next(iter(plan.recipes.values()))).data
    for corpus in data.train:
        next(read_pairs(corpus, data))
    for corpus in (*data.dev, *data.test):
        for _ in read_pairs(corpus, data):
            pass


def chosen_jobs(plan: Plan, systems: Sequence[str]) -> list[Job]:
    """Return the jobs of some systems with their dependencies, or all jobs. Raises SettingsError for an unknown name."""
    known = list(plan.arena.systems)
    for name in systems:
        if name not in known:
            raise SettingsError(f"the arena has no system `{name}`{nearest(name, known)}")
    wanted = set(systems or known).union(*(plan.arena.systems[name].ensemble for name in systems))
    return [job for job in plan.jobs if job.system in wanted]


def scaled(recipe: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a recipe with every learning rate multiplied by `factor`; one that is `auto` stays so.

    >>> scaled({"training": {"learning_rate": 0.5, "phases": [{"learning_rate": 2.0}, {"after": 0.9}]}}, 0.5)["training"]
    {'learning_rate': 0.25, 'phases': [{'learning_rate': 1.0}, {'after': 0.9}]}
    """
    training = dict(recipe["training"])
    if training["learning_rate"] != AUTO:
        training["learning_rate"] = float(training["learning_rate"]) * factor  # YAML takes 1e-3 for a word
    if training.get("phases"):
        training["phases"] = [
            {**phase, "learning_rate": float(phase["learning_rate"]) * factor}
            if phase.get("learning_rate")
            else dict(phase)
            for phase in training["phases"]
        ]
    return {**recipe, "training": training}


def _base(arena: ArenaSettings) -> dict[str, Any]:
    """Return the settings shared by all systems, without a model; search settings that are `auto` keep their defaults."""
    if isinstance(arena.base, str):
        table = _read(arena.base)
    else:
        table = with_auto_sections(arena.base)
        extends = table.pop("extends", None)
        table = table if extends is None else merge(_read(str(extends)), table)
    if isinstance(search := table.get("decoding"), dict):
        table = table | {"decoding": {name: value for name, value in search.items() if value != AUTO}}
    return {name: section for name, section in table.items() if name not in ("model", "about", "seed")}


def _read(name: str) -> dict[str, Any]:
    """Read a complete recipe as a dictionary."""
    return reduce(merge, tables_of(find_recipe(name)))


def _own(name: str) -> dict[str, Any]:
    """Read a recipe's own settings, without those inherited from a recipe with corpora."""
    tables = tables_of(find_recipe(name))
    first = max((number for number, table in enumerate(tables[:-1]) if "train" in table.get("data", {})), default=-1)
    own: dict[str, Any] = reduce(merge, tables[first + 1 :])
    return {name: part for name, part in own.items() if name in OWN}


def _recipe(name: str, system: SystemSettings, base: Mapping[str, Any], *, arena: ArenaSettings) -> dict[str, Any]:
    """Override the base by a system, and both by the arena's budget."""
    try:
        own = {} if system.recipe is None else _own(system.recipe)
    except SettingsError as error:
        raise SettingsError(f"the system `{name}`: {error}") from None
    table = merge(merge(base, own), with_auto_sections(system.set))
    if "model" not in table:
        raise SettingsError(f"the recipe `{system.recipe}` of the system `{name}` has no `model`; choose another")
    given = table.get("training", {})
    if not isinstance(given, Mapping):
        raise SettingsError(f"the system `{name}`: `training` is {given}, but it must be a table of settings")
    training = {key: value for key, value in given.items() if key not in BUDGETS}
    training |= {arena.budget.kind: arena.budget.amount(), "threads": arena.threads}
    training.setdefault("learning_rate", 1e-3)
    return {**table, "seed": arena.seeds[0], "training": training}


def _check_ensemble(name: str, system: SystemSettings, recipes: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise SettingsError for unknown members, and for members with different target vocabularies."""
    for member in system.ensemble:
        if member not in recipes:
            raise SettingsError(
                f"the ensemble `{name}` names `{member}`, which is not a trained system{nearest(member, list(recipes))}"
            )
    if len(set(system.ensemble)) != len(system.ensemble):
        raise SettingsError(f"the ensemble `{name}` names a system twice; name each once")
    texts = {member: _pieces(recipes[member]) for member in system.ensemble}
    for member, text in texts.items():
        first = system.ensemble[0]
        if text != texts[first]:
            raise SettingsError(
                f"`{first}` and `{member}` of the ensemble `{name}` would have different target vocabularies (their `text` "
                "sections differ), so they cannot translate together; give both the same, or remove one"
            )


def _pieces(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that determine the target vocabulary."""
    text = parse(Recipe, recipe).text.model_dump(mode="json")
    return {name: value for name, value in text.items() if not name.startswith("sampling")}


def _jobs(arena: ArenaSettings, recipes: Mapping[str, Mapping[str, Any]]) -> Iterator[Job]:
    """Yield all jobs, system by system."""
    for name, recipe in recipes.items():
        trials = list(_trials(name, recipe, arena))
        yield from trials
        for seed in arena.seeds:
            needs = tuple(trial.name for trial in trials)
            yield Job(name, f"seed-{seed}", seed, {**recipe, "seed": seed}, needs=needs)
    for name, system in arena.systems.items():
        for seed in arena.seeds if system.ensemble else ():
            members = tuple(f"{member}/seed-{seed}" for member in system.ensemble)
            first = {**recipes[system.ensemble[0]], "seed": seed}
            yield Job(name, f"seed-{seed}", seed, first, members=members, needs=members)


def _trials(name: str, recipe: Mapping[str, Any], arena: ArenaSettings) -> Iterator[Job]:
    """Yield the trials of a system: part of the budget with each learning rate."""
    if arena.search is None:
        return
    part = {**recipe["training"], arena.budget.kind: arena.budget.amount(arena.search.share)}
    for factor in arena.search.learning_rates:
        yield Job(
            name, f"trial-{factor:g}", arena.seeds[0], scaled({**recipe, "training": part}, factor), factor=factor
        )
