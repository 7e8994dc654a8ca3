"""What must not have changed when a run goes on: its recipe, but for the budget, and its corpora."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import RunError, SettingsError

MAY_CHANGE = frozenset(
    {"steps", "epochs", "minutes", "tokens", "flops", "patience", "save_minutes", "log_every", "keep"}
)
MAY_CHANGE |= {"average", "threads", "learning_rate", "clip", "compile", "padding"}
"""Settings of the section `training` that may differ when a run goes on."""


def check_same_recipe(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse to go on with another recipe than the one that the run `folder` began with. SettingsError names the place.

    Recipes come as tables; of the section `training` only what changes the result counts.
    """
    before, now = (
        {**recipe, "training": {name: value for name, value in recipe["training"].items() if name not in MAY_CHANGE}}
        for recipe in (old, new)
    )
    for place in _differences(before, now, ""):
        raise SettingsError(
            f"{folder} was trained with another recipe: `{place}` differs; resume with the recipe it began with (only the "
            "budget, learning_rate and clip in `training` may change), or choose another folder with --out"
        )


def check_same_files(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse to go on where a corpus file has another checksum than when the run `folder` began."""
    for path, checksum in now.items():
        if before.get(path, checksum) != checksum:
            raise RunError(f"{path} has changed since {folder} began; bring it back, or begin another run with --out")


def _differences(old: Any, new: Any, place: str) -> Iterator[str]:
    """Name the places where two tables differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key):
                yield from _differences(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    elif old != new:
        yield place
