"""An arena: which systems are compared, on what, with what budget; one YAML file."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from dragoman.errors import SettingsError, shorten
from dragoman.runs.recipe import find_arena
from dragoman.settings import Settings, override, parse, read_yaml

BUDGETS = ("steps", "epochs", "minutes", "flops", "tokens")
"""The budgets in `training`; an arena sets one and removes the others."""


class BudgetSettings(Settings):
    """Budget of each training: exactly one of these."""

    minutes: float | None = Field(None, gt=0)
    """Wall-clock time, including validation."""
    flops: float | None = Field(None, gt=0)
    """Floating-point operations of the training steps."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens, counted each time they are seen."""

    @model_validator(mode="after")
    def _check(self) -> "BudgetSettings":
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("`budget` needs exactly one of `minutes`, `flops` and `tokens`, the same for every system")
        return self

    @property
    def kind(self) -> str:
        """Return the name of the budget."""
        return next(iter(self.model_dump(exclude_none=True)))

    def amount(self, share: float = 1.0) -> float | int:
        """Return this share of the budget, at least 1 token."""
        whole = self.model_dump(exclude_none=True)[self.kind]
        return max(1, round(whole * share)) if self.kind == "tokens" else whole * share


class SearchSettings(Settings):
    """Search over learning rates, the same for every system, with the first seed."""

    learning_rates: tuple[Annotated[float, Field(gt=0)], ...] = Field((0.5, 1.0, 2.0), min_length=2)
    """Factors of the learning rate in a system's recipe."""
    share: float = Field(0.1, gt=0, le=1)
    """Share of the budget for each trial."""
    metric: Literal["dev_loss"] = "dev_loss"
    """The trial with the lowest value wins."""


class SystemSettings(Settings):
    """One system: a recipe, or an ensemble of other systems."""

    recipe: str | None = None
    """A shipped recipe, or a path; its model, training and text override the base."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Settings that override the recipe."""
    ensemble: tuple[str, ...] = ()
    """Names of systems that translate together, with the same seed."""

    @property
    def refusal(self) -> str | None:
        """Return what is wrong with it, and what to do."""
        if self.ensemble and (self.recipe is not None or self.set):
            return "it is either an `ensemble` or has a `recipe` (and `set`); remove one of them"
        shared = [name for name in self.set if name not in ("text", "model", "training", "decoding")]
        if shared:
            return f"`set.{shared[0]}` cannot differ between systems; set it in `base`, or remove it"
        if len(self.ensemble) == 1:
            return "its `ensemble` needs at least two systems; add another, or remove it"
        if not self.ensemble and self.recipe is None and "model" not in self.set:
            return "it needs a `recipe`, a model in `set`, or an `ensemble` of systems; give one"
        return None


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class ArenaSettings(Settings):
    """Everything that defines a comparison."""

    about: str = ""
    """Description: what is compared and why, in a sentence or two."""
    base: str | dict[str, Any]
    """The recipe that all systems share: data, text, training and decoding; a mapping (which may use `extends`) or a name."""
    systems: dict[Name, SystemSettings] = Field(min_length=1)
    """The systems by name, in the order in which they are trained."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((1,), min_length=1)
    """Random seeds; every system is trained once with each."""
    budget: BudgetSettings
    """Budget of each training."""
    search: SearchSettings | None = None
    """The search over learning rates; by default none."""
    samples: int = Field(5, ge=0)
    """Number of test sentences whose translations are shown."""
    attention_sentence: str | None = None
    """Sentence whose attention is drawn for each system; by default the first of the test corpus."""
    parallel: int = Field(1, ge=1)
    """Number of parallel jobs with at most one GPU."""
    threads: int = Field(1, ge=1)
    """CPU threads of each job."""
    quick: float = Field(0.25, gt=0, le=1)
    """Share of the budget with `--quick`."""

    @field_validator("base", mode="before")
    @classmethod
    def _check_base(cls, base: Any) -> Any:
        """Refuse what is neither a name nor a table, of which pydantic would say that it is no text."""
        if not isinstance(base, str | Mapping):
            raise ValueError(f"`base` is {shorten(base)}, but it must be the name of a recipe, or a table of settings")
        return base

    @model_validator(mode="after")
    def _check(self) -> "ArenaSettings":
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("`seeds` contains a number twice; list each once")
        if self.search is not None and len(set(self.search.learning_rates)) != len(self.search.learning_rates):
            raise ValueError("`search.learning_rates` contains a number twice; list each once")
        for name, system in self.systems.items():
            if system.refusal is not None:
                raise ValueError(f"the system `{name}`: {system.refusal}")
        return self

    def quick_version(self) -> "ArenaSettings":
        """Return a quick version of the arena: one seed, no search, part of the budget."""
        budget = BudgetSettings.model_validate({self.budget.kind: self.budget.amount(self.quick)})
        return self.model_copy(update={"seeds": self.seeds[:1], "search": None, "budget": budget})


def load_arena(name: str, assignments: Sequence[str] = ()) -> ArenaSettings:
    """Read an arena from a path, or by the name of a shipped one, with `a.b=value` overriding it.

    As in recipes, the paths of recipes that the file names are relative to it, or else to the current folder.
    """
    path = find_arena(name)
    table = read_yaml(path, "an arena", names="as in `dragoman compare arena-phrasebook`")
    if "systems" not in table and "model" in table:
        raise SettingsError(f"{path} is a recipe, not an arena; use it with `dragoman train`")
    return parse(ArenaSettings, override(_located(table, path.parent), assignments), where=str(path))


def _located(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table of an arena with the paths of those recipes that are in its folder."""

    def place(of: Any, *names: str) -> Any:
        if isinstance(of, Mapping):
            return {name: place(value) if name in names else value for name, value in of.items()}
        with suppress(OSError):  # a name that the system does not allow
            if isinstance(of, str) and (folder / of).is_file():
                return str(folder / of)
        return of

    found = dict(table)
    if "base" in table:
        found["base"] = place(table["base"], "extends")
    if isinstance(systems := table.get("systems"), Mapping):
        found["systems"] = {name: place(system, "recipe") for name, system in systems.items()}
    return found
