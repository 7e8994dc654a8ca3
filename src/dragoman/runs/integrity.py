"""Detect damage to and edits of a run's own files.

manifest.json contains a checksum of itself and the recipe as training left it; weights and checkpoints contain the identity
of their run (`training/files.py`), codecs their fingerprints; checksums.json has the checksums of all files
(`data/ledger.py`). Runs of earlier versions have none of this, and are read as they are.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.data import ledger
from dragoman.errors import RunError, notice_once
from dragoman.regular_files import is_name
from dragoman.settings import Settings
from dragoman.training.resuming import MAY_CHANGE, differences

CHECKSUM, RECIPE, IDENTITY = ledger.CHECKSUM, "recipe", "identity"
"""Entries of manifest.json: a checksum of the others, the recipe as it was written, the identity of the run."""
COMPARED = "files"
"""Entry of manifest.json: the file with the checksums of all files, which runs of earlier releases have not."""
TOKENS_BEFORE = "tokens_before"
"""Entry of manifest.json: target tokens of the trainings before, if the weights come from a run; null if nobody knows."""
INHERITED = ("data", "precision", "adapted", TOKENS_BEFORE)
"""Entries of manifest.json that hold for a run made of the weights of another."""

MAY_BE_EDITED = frozenset({"about", "data", "decoding"})
"""Sections of a run's recipe.yaml that may be edited by hand, as well as what may change in `training` when a run is resumed:
trained weights do not depend on them."""


def run_identity(recipe: Settings, fingerprints: Sequence[str], data: Mapping[str, str]) -> str:
    """Return the identity of a new run: a hash of everything that determines its initial weights.

    `fingerprints` are those of the codecs, `data` the checksums of the corpora by path. Equal trainings have equal
    identities, wherever their files are; budgets are excluded, as they may change when the run is resumed.
    """
    table = recipe.model_dump(mode="json")
    training = {
        name: value
        for name, value in table["training"].items()
        if name not in MAY_CHANGE or name in ("learning_rate", "clip")
    }
    parts = [table["seed"], table["text"], table["model"], training, list(fingerprints), list(data.values())]
    return ledger.digest(parts)[:32]


def sealed(manifest: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the recipe and the checksum that `unsealed` checks."""
    return ledger.sealed({**manifest, RECIPE: recipe})


def unsealed(manifest: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what `sealed` was given; None as the recipe of a run of an earlier version. Raises RunError if it was changed."""
    rest = {name: value for name, value in manifest.items() if name != CHECKSUM}
    recipe = rest.pop(RECIPE, None)
    if CHECKSUM not in manifest and recipe is None and IDENTITY not in manifest:
        return rest, None
    if not isinstance(recipe, dict) or not ledger.is_sealed(manifest):
        raise RunError(f"{path} is damaged (its checksum does not match); restore it from an intact copy")
    return rest, recipe


def check_entries(manifest: Mapping[str, Any], path: Path) -> None:
    """Raise RunError for a manifest whose entries are not what a run writes, though its checksum is right."""
    tables = [
        manifest.get(name, {}) for name in ("data", "start_from", "grown", "adapted", "imported", "exported", "cost")
    ]
    whole = all(isinstance(table, dict) for table in tables)
    if whole:
        data, start_from, grown, adapted, imported, _, cost = tables
        files, origins = imported.get("files", {}), start_from.values()
        lists = (grown.get("languages", []), adapted.get("runs", []))
        whole = all(isinstance(one, dict) for one in (files, *origins)) and all(isinstance(one, list) for one in lists)
        whole = whole and _all_text(
            *data.values(),
            *(value for one in origins for value in one.values()),
            *files.values(),
            *(value for one in lists for value in one),
        )
        whole = whole and all(is_name(name) for name in files)
        tokens = (manifest.get(TOKENS_BEFORE), cost.get("tokens"))
        whole = whole and all(one is None or (type(one) is int and 0 <= one < 2**63) for one in tokens)
    numbers = [manifest.get(name, 1) for name in ("threads", "replicas")]
    if not whole or not isinstance(manifest.get(IDENTITY, ""), str) or not all(_is_count(one) for one in numbers):
        raise RunError(f"{path} is damaged (an entry is not what a run has there); restore it from an intact copy")


def _all_text(*values: object) -> bool:
    """Tell whether all values are text."""
    return all(isinstance(value, str) for value in values)


def _is_count(value: object) -> bool:
    """Tell whether a value may be a number of threads or models; None stands for one that was not chosen."""
    return value is None or (type(value) is int and 0 < value < 10_000)


def check_files(folder: Path, manifest: Mapping[str, Any], *names: str) -> None:
    """Raise DamagedError for a file of a run that is missing, damaged or another one; say so where that can no longer be told."""
    if COMPARED in manifest and not (folder / ledger.LEDGER).exists():
        notice_once(
            f"{folder / ledger.LEDGER} is missing, so damage to the other files may not be noticed; copy the run again."
        )
    odd = next((folder / name for name in names if (folder / name).exists() and not (folder / name).is_file()), None)
    if odd is not None:
        raise RunError(f"{odd} is not a file; copy the run again")
    ledger.check(folder, *(folder / name for name in names))


def check_recipe(path: Path, found: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Refuse (RunError) the recipe `path` of a run where weights depend on what was changed in it; say so elsewhere."""
    for place in differences(written, found):
        before, now = (_at(table, place) for table in (written, found))
        change = f"{path} was changed after it was written: `{place}` is {now}, but was {before}"
        section, _, name = place.partition(".")
        if section not in MAY_BE_EDITED and not (section == "training" and name in MAY_CHANGE):
            raise RunError(f"{change}; change it back, or copy the file again from where the run was trained")
        notice_once(f"{change}. The current value is used.")


def _at(table: Any, place: str) -> str:
    """Return the value at a path in a dictionary, formatted for a message."""
    for name in place.split("."):
        table = table.get(name) if isinstance(table, dict) else None
    text = "not there" if table is None else json.dumps(table, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}..."
