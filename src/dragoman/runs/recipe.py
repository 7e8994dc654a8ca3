"""A recipe: everything that defines a run, in one YAML file with the sections data, text, model, training and decoding."""

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import Field

from dragoman.data.settings import DataSettings
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError
from dragoman.models.build import ModelChoice
from dragoman.settings import Settings, merge, nearest, override, parse, read_yaml
from dragoman.text.settings import TextSettings
from dragoman.training.settings import TrainingSettings

ARENA = "arena-"
"""Prefix of the names of shipped arenas, which are in the folder of the recipes."""


class Recipe(Settings):
    """Everything that defines a run."""

    about: str = ""
    """What the recipe is for, in a sentence or two."""
    seed: int = Field(1, ge=0)
    """Random seed: initial weights, order of batches, dropout, subword sampling."""
    data: DataSettings
    """The corpora."""
    text: TextSettings
    """Tokenisation."""
    model: ModelChoice
    """The architecture."""
    training: TrainingSettings
    """How the model is trained."""
    decoding: DecodingSettings = DecodingSettings()
    """Search for translations."""


def load_recipe(name: str | Path, assignments: Sequence[str] = ()) -> Recipe:
    """Read a recipe from a path, or by the name of a shipped one, with `a.b=value` overriding it.

    `extends: NAME` makes a recipe override another one: a shipped name, or a path relative to the recipe.
    """
    path = find_recipe(str(name))
    return parse(Recipe, override(_read(path), assignments), where=str(path))


def find_recipe(name: str) -> Path:
    """Return the path of a recipe: `name` itself, or a shipped recipe of that name."""
    return _find(name, shipped(), "recipe", listed="dragoman recipes")


def find_arena(name: str) -> Path:
    """Return the path of an arena: `name` itself, or a shipped arena of that name."""
    return _find(name, shipped_arenas(), "arena")


def shipped() -> dict[str, Path]:
    """Return the recipes that come with Dragoman, by name."""
    return {name: path for name, path in _files().items() if not name.startswith(ARENA)}


def shipped_arenas() -> dict[str, Path]:
    """Return the arenas that come with Dragoman, by name."""
    return {name: path for name, path in _files().items() if name.startswith(ARENA)}


def tables_of(path: Path, seen: tuple[Path, ...] = ()) -> list[dict[str, Any]]:
    """Return the contents of a recipe file and of those that it extends, the base of all first."""
    if path in seen:
        raise SettingsError(f"{path} extends itself, through {', '.join(str(p) for p in seen)}; remove the cycle")
    table = read_yaml(path)
    if "systems" in table:
        raise SettingsError(f"{path} is an arena, not a recipe; use it with `dragoman compare`")
    base = table.pop("extends", None)
    if base is None:
        return [table]
    beside = path.parent / str(base)
    parent = beside if beside.exists() else find_recipe(str(base))
    return [*tables_of(parent, (*seen, path)), table]


def _read(path: Path) -> dict[str, Any]:
    """Read a recipe file, merged with those that it extends."""
    return reduce(merge, tables_of(path))


def _find(name: str, known: Mapping[str, Path], what: str, *, listed: str | None = None) -> Path:
    """Return the path that `name` is, or the shipped file of that name."""
    path = Path(name)
    if path.exists() or path.suffix or len(path.parts) > 1:
        return path
    if name not in known:
        other = _files().get(name)
        if other is not None:
            return other  # reading it reports what it is
        raise SettingsError(
            f"there is no {what} `{name}`, neither a file nor a shipped one{nearest(name, list(known), listed=listed)}"
        )
    return known[name]


def _files() -> dict[str, Path]:
    """Return the files that come with Dragoman, by name."""
    package = Path(__file__).resolve().parents[1]
    folder = next(place for place in (package / "recipes", package.parents[1] / "recipes", package) if place.is_dir())
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
