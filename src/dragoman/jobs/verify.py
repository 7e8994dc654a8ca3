"""Compare every file of a run or an export with what was written: with its recorded checksum, and with the one inside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dragoman.atomic import SUFFIX
from dragoman.data.ledger import ABSENT, LEDGER, matches, recorded
from dragoman.errors import DragomanError, RunError
from dragoman.inference.ctranslate2.folder import EXPORTS, MANIFEST, is_export, read_manifest
from dragoman.runs.folder import CODECS, SHORTLIST, open_run, read_recipe, read_sealed
from dragoman.runs.integrity import COMPARED, IDENTITY, check_recipe
from dragoman.runs.lock import LOCK
from dragoman.runs.recipe import Recipe
from dragoman.settings import read_yaml
from dragoman.text.codec import Codec
from dragoman.training.checkpoint import load_tensors
from dragoman.training.files import RunFiles

State = Literal["fine", "edited", "unknown", "missing", "damaged"]
"""A file is what was written; or a recipe in which only what may be edited was; or of no checksum; or not what was written."""
BAD = frozenset({"missing", "damaged"})
"""States of a file that is not what was written."""
EXCHANGED = f"its checksum is not that in {LEDGER}"
"""Why a file is damaged."""


@dataclass(frozen=True)
class Finding:
    """What is true of one file."""

    path: str
    """Relative to the folder; that of the weights of another run, which adapters need, as it is."""
    state: State
    reason: str = ""


def verify(folder: Path) -> list[Finding]:
    """Compare all files of a run, with the base of its adapters and its exports, or of an export; return what is true of each.

    Nothing is written. Raises RunError for a folder that is neither.
    """
    if is_export(folder):
        return _of_export(folder)
    if not (folder / LEDGER).exists():
        read_sealed(folder)
    return [*_of_run(folder), *_of_exports(folder), *_of_base(folder)]


def _of_export(folder: Path) -> list[Finding]:
    """Compare an export for CTranslate2 with its manifest."""
    try:
        wanted = {name: [one] for name, one in read_manifest(folder)["files"].items()}
    except RunError as error:
        return [Finding(MANIFEST, "damaged", str(error))]
    names = sorted({*wanted, *(path.name for path in folder.iterdir())} - {MANIFEST, LEDGER})
    found = [
        _compared(folder, name, wanted.get(name), reason=f"its checksum is not that in {MANIFEST}") for name in names
    ]
    return [Finding(MANIFEST, "fine"), *found]


def _of_run(folder: Path) -> Iterator[Finding]:
    """Compare the files of a run, or of an export that has a list of checksums alone."""
    try:
        manifest, written = read_sealed(folder)
    except RunError:
        manifest, written = {}, None
    try:
        sums = recorded(folder)
        if sums is not None or COMPARED in manifest:
            yield Finding(LEDGER, "missing" if sums is None else "fine")
    except RunError as error:
        sums = None
        yield Finding(LEDGER, "damaged", str(error))
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted({*(sums or {}), *there} - {LEDGER, LOCK}):
        allowed = (sums or {}).get(name)
        if name.startswith(f"{EXPORTS}/") or (name not in there and ABSENT in (allowed or [])):
            continue
        if name == "recipe.yaml" and name in there:
            yield _of_recipe(folder, manifest, written, same=matches(folder / name, allowed))
            continue
        found = _compared(folder, name, allowed, reason=EXCHANGED)
        yield _looked_into(folder, found, manifest) if found.state in ("fine", "unknown") and manifest else found


def _compared(folder: Path, name: str, allowed: list[str] | None, *, reason: str) -> Finding:
    """Compare a file with the checksums that it may have."""
    path = folder / name
    if not path.is_file():
        return Finding(name, "missing")
    if allowed is None:
        left = path.name.startswith(".") and path.name.endswith(SUFFIX)
        return Finding(name, "unknown", "left by a process that was killed" if left else "it has no recorded checksum")
    return Finding(name, "fine") if matches(path, allowed) else Finding(name, "damaged", reason)


def _looked_into(folder: Path, found: Finding, manifest: Mapping[str, Any]) -> Finding:
    """Read a file that has a checksum of its content inside."""
    path = folder / found.path
    try:
        if path.suffix == ".safetensors" and not path.name.startswith("."):
            _, about = load_tensors(path)
            if path.name != SHORTLIST:
                RunFiles(folder, manifest.get(IDENTITY)).check(path, about)
        elif found.path in CODECS:
            Codec.load(folder, path.stem)
        elif found.path != "manifest.json":
            return found
    except DragomanError as error:
        return Finding(found.path, "damaged", str(error))
    return Finding(found.path, "fine")


def _of_recipe(folder: Path, manifest: Mapping[str, Any], written: dict[str, Any] | None, *, same: bool) -> Finding:
    """Compare the recipe of a run with the one in its manifest: some settings may be edited."""
    path = folder / "recipe.yaml"
    try:
        if manifest.get("task") == "classify":
            check_recipe(path, read_yaml(path), written or {})
        else:
            read_recipe(folder, Recipe, written)
    except DragomanError as error:
        return Finding(path.name, "damaged", str(error))
    if written is None and not same:
        return Finding(path.name, "damaged", EXCHANGED)
    return Finding(path.name, "fine" if same else "edited")


def _of_exports(folder: Path) -> Iterator[Finding]:
    """Compare the exports in a run."""
    for place in sorted((folder / EXPORTS).glob("*")):
        if is_export(place) or (place / LEDGER).exists():
            yield from (replace(one, path=f"{EXPORTS}/{place.name}/{one.path}") for one in verify(place))
        else:
            yield Finding(f"{EXPORTS}/{place.name}", "unknown", "it has no recorded checksums")


def _of_base(folder: Path) -> Iterator[Finding]:
    """Compare the weights of the run that adapters belong to."""
    try:
        run = open_run(folder)
    except DragomanError:  # found above
        return
    if getattr(run.recipe.model, "adapters", None) is None:
        return
    try:
        base = run.base()
        base.files.load(base.weights)
        yield Finding(str(base.weights), "fine")
    except DragomanError as error:
        yield Finding("the base of its adapters", "damaged", str(error))
