"""An arena: which systems are compared, on what, with what budget; one YAML file."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dragoman.errors import SettingsError
from dragoman.runs.recipe import find_arena
from dragoman.settings import Settings, override, parse, read_yaml

BUDGETS = ("steps", "epochs", "minutes", "flops", "tokens")
"""The settings of `training` that end it; an arena sets one and takes out the others."""


class BudgetSettings(Settings):
    """What each training may use: exactly one of these."""

    minutes: float | None = Field(None, gt=0)
    """Wall time, validation included."""
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
        """Name what is counted."""
        return next(iter(self.model_dump(exclude_none=True)))

    def amount(self, share: float = 1.0) -> float | int:
        """Return so much of the budget, at least 1 where it is counted in whole tokens."""
        whole = self.model_dump(exclude_none=True)[self.kind]
        return max(1, round(whole * share)) if self.kind == "tokens" else whole * share


class SearchSettings(Settings):
    """The search over learning rates, the same for every system; it is made with the first seed."""

    learning_rates: tuple[Annotated[float, Field(gt=0)], ...] = Field((0.5, 1.0, 2.0), min_length=2)
    """Factors of the rate that a system's recipe gives."""
    share: float = Field(0.1, gt=0, le=1)
    """Share of the budget that each trial gets."""
    metric: Literal["dev_loss"] = "dev_loss"
    """The trial with the lowest one wins."""


class SystemSettings(Settings):
    """One system: a recipe, or an ensemble of other systems."""

    recipe: str | None = None
    """A shipped recipe, or a path; its model, training and text are laid over the base."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Settings laid over that, as in a recipe."""
    ensemble: tuple[str, ...] = ()
    """Names of systems that translate together, those of the same seed."""

    @model_validator(mode="after")
    def _check(self) -> "SystemSettings":
        if self.ensemble and (self.recipe is not None or self.set):
            raise ValueError("a system is either an `ensemble` or has a `recipe` (and `set`); take one of them out")
        shared = [name for name in self.set if name not in ("text", "model", "training", "decoding")]
        if shared:
            raise ValueError(f"`set.{shared[0]}` cannot differ between systems; set it in `base`, or take it out")
        if len(self.ensemble) == 1:
            raise ValueError("an `ensemble` needs at least two systems; name another, or leave it out")
        if not self.ensemble and self.recipe is None and "model" not in self.set:
            raise ValueError("a system needs a `recipe`, a model in `set`, or an `ensemble` of systems; give one")
        return self


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class ArenaSettings(Settings):
    """Everything that makes a comparison."""

    about: str = ""
    """What is compared and why, in a sentence or two."""
    base: str | dict[str, Any]
    """The recipe that all systems share: data, text, training and decoding; a table (which may say `extends`) or a name."""
    systems: dict[Name, SystemSettings] = Field(min_length=1)
    """The systems by name, in the order of their work."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((1,), min_length=1)
    """Every system is trained once with each."""
    budget: BudgetSettings
    """What each training may use."""
    search: SearchSettings | None = None
    """The search over learning rates; by default none."""
    samples: int = Field(5, ge=0)
    """Test sentences whose translations are shown side by side."""
    attention_sentence: str | None = None
    """The sentence whose attention is drawn for each system; by default the first of the test corpus."""
    parallel: int = Field(1, ge=1)
    """Jobs at once where there is no more than one GPU."""
    threads: int = Field(1, ge=1)
    """CPU threads of each job."""
    quick: float = Field(0.25, gt=0, le=1)
    """Share of the budget that `--quick` gives."""

    @model_validator(mode="after")
    def _check(self) -> "ArenaSettings":
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("`seeds` holds a number twice; name each once")
        return self

    def quick_version(self) -> "ArenaSettings":
        """Return the arena of a first look: one seed, no search, a part of the budget."""
        budget = BudgetSettings.model_validate({self.budget.kind: self.budget.amount(self.quick)})
        return self.model_copy(update={"seeds": self.seeds[:1], "search": None, "budget": budget})


def load_arena(name: str, assignments: Sequence[str] = ()) -> ArenaSettings:
    """Read an arena from a path, or by the name of a shipped one, with `a.b=value` laid over it."""
    path = find_arena(name)
    table = read_yaml(path)
    if "systems" not in table and "model" in table:
        raise SettingsError(f"{path} is a recipe, not an arena; use it with `dragoman train`")
    return parse(ArenaSettings, override(table, assignments), where=str(path))
