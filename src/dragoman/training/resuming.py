"""Check that what must not change before resuming has not: the recipe, except a few training settings, and the corpora."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import RunError, SettingsError
from dragoman.training.budgets import BUDGETS, shares
from dragoman.training.files import RunFiles
from dragoman.training.settings import OptimisationSettings
from dragoman.training.state import saved_progress

MAY_CHANGE = frozenset(
    {*BUDGETS, "patience", "save_minutes", "log_every", "keep", "average", "learning_rate", "clip"}
) | {
    "threads",
    "compile",
    "padding",
    "shard",
}
"""Settings of the section `training` that may differ when a run is resumed."""

SECTIONS_THAT_MAY_CHANGE = ("about", "decoding")
"""Sections of a recipe that may differ when a run is resumed: training does not read them."""

LOCATIONS = frozenset({"source", "target", "documents", "links", "tsv", "jsonl", "tmx", "text"})
"""Settings of a corpus that locate a file; the files themselves are compared by their checksums."""

FILE = "a file"
"""Placeholder for the path of a file when recipes are compared."""


def check_same_recipe(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise SettingsError, which names the setting, unless the recipe is the one that the run `folder` was started with.

    Recipes are given as dictionaries. The paths of corpora may differ, and in the section `training` what is in MAY_CHANGE.
    """
    for place in differences(_lasting(old), _lasting(new)):
        raise SettingsError(
            f"{folder} was trained with another recipe: `{place}` differs; resume with the original recipe (of `training` "
            f"only {', '.join(sorted(MAY_CHANGE))} may change), or choose another folder with --out"
        )


def check_same_files(
    folder: Path, before: Mapping[str, str], now: Mapping[str, str], *, moved: Sequence[tuple[str, str]]
) -> None:
    """Raise RunError if a corpus file has changed since the run `folder` was started; it may have been moved.

    Files are given as checksums by path. `moved` holds, for each place of the recipe with a file, the path there when the run was
    written, and the present one.
    """
    if not any(old in before for old, _ in moved):
        # Earlier releases went on naming files as they were before they were moved.
        before = dict(zip(dict.fromkeys(old for old, _ in moved), before.values(), strict=False))
    for old, path in moved:
        if before.get(old, now[path]) != now[path]:
            moved_from = "" if old == path else f", when it was {old}, or is another text"
            raise RunError(
                f"{path} has changed since {folder} was started{moved_from}; restore it, or start another run with --out"
            )


def with_changes(
    manifest: Mapping[str, Any], files: RunFiles, before: OptimisationSettings, *, now: OptimisationSettings
) -> dict[str, Any]:
    """Return the entry `resumed` of a manifest, to which what resuming changes of the settings of training is added, if anything.

    It holds, each time, the `step` and, by setting, the old and the new value: with it a run can be repeated that its recipe
    alone does not repeat. Raises SettingsError where training has ended, and would have before that with
    a budget that was changed.
    """
    old, new = (one.model_dump(mode="json") for one in (before, now))
    changed = {name: [old[name], new[name]] for name in new if old[name] != new[name]}
    if not changed:
        return {}
    progress, epochs = saved_progress(files)
    used = progress.used(epochs)
    for name, share in shares({name: new[name] for name in BUDGETS if name in changed}, used).items():
        if progress.finished and share > 1:
            raise SettingsError(
                f"`training.{name}` is {_number(new[name])}, but {files.folder} has been trained to its end with "
                f"{_number(used[name])}; leave it as it was, or give more to train on"
            )
    return {"resumed": [*manifest.get("resumed", []), {"step": progress.step, "training": changed}]}


def _number(amount: float) -> str:
    """Return what is used of a budget, a whole number with all of its digits."""
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.6g}"


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Yield the paths of the entries in which two dictionaries differ.

    >>> list(differences({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 4}}))
    ['b.c', 'b.d']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key):
                yield from differences(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    elif old != new:
        yield place


def _lasting(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a recipe that must not change."""
    kept = {name: section for name, section in recipe.items() if name not in SECTIONS_THAT_MAY_CHANGE}
    training = {name: value for name, value in recipe["training"].items() if name not in MAY_CHANGE}
    return {**kept, "training": training, "data": _without_locations(recipe["data"])}


def _without_locations(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section `data` of a recipe without the paths of its files, and whether they are checked."""
    corpora = {part: _without_location(data[part]) for part in ("train", "dev", "test") if part in data}
    return {**data, **corpora, "root": None, "check": None}


def _without_location(corpus: Any) -> Any:
    """Return a corpus, or several, with every path replaced by FILE."""
    if isinstance(corpus, list | tuple):
        return [_without_location(one) for one in corpus]
    if isinstance(corpus, dict):
        files = {name for name in LOCATIONS & set(corpus) if corpus[name] not in (None, "blank lines")}
        return {name: FILE if name in files else value for name, value in corpus.items()}
    return None if corpus is None else FILE
