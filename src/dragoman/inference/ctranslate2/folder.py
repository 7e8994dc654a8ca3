"""An export: a folder with everything needed to translate with another engine.

export.json (what it is made from, decoding settings, checksums), source.json and target.json (codecs), dictionary.tsv where
the run has one, and what the engine reads: model.bin, config.json, vocabularies. It can be copied anywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.checksums import file_checksum, weights_digest
from dragoman.data.directions import Directions
from dragoman.data.ledger import CHECKSUM, is_sealed
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import RunError
from dragoman.json_files import load_json
from dragoman.regular_files import is_name
from dragoman.settings import parse
from dragoman.text.codec import Codec

MANIFEST = "export.json"
"""File that makes a folder an export; written last."""
FORMAT = 2
"""Version of exports; a program reads its own and older ones."""
UNTAGGED = 1
"""Version of exports for one direction, which programs read that know no language tags."""
EXPORTS = "exports"
"""Folder inside a run that holds its exports."""


@dataclass(frozen=True)
class Export:
    """An opened export."""

    folder: Path
    source: Codec
    target: Codec
    decoding: DecodingSettings
    manifest: Mapping[str, Any]

    @property
    def directions(self) -> Directions:
        """The directions that the run was trained on, or in which it translates if it was imported."""
        several, usual = self.manifest.get("directions"), self.manifest.get("usual")
        trained = [self.manifest["languages"]] if several is None else several
        return Directions(
            tuple((source, target) for source, target in trained),
            tagged=several is not None,
            by_source=bool(self.source.frames.languages("source")),
            usual=None if usual is None else (usual[0], usual[1]),
        )

    @property
    def positions(self) -> int:
        """Return the maximum number of tokens of a sentence, including </s>, on either side."""
        return int(self.manifest["positions"])


def is_export(folder: Path) -> bool:
    """Return whether `folder` is an export."""
    return (folder / MANIFEST).is_file()


def open_export(folder: Path) -> Export:
    """Read an export. Raises RunError if it is missing, of a newer format, or any of its files has changed."""
    manifest = read_manifest(folder)
    for name, wanted in manifest["files"].items():
        path = folder / name
        if path.exists() and not path.is_file():
            raise RunError(f"{path} is not a file; copy the whole export again")
        try:
            found = file_checksum(path)
        except OSError as error:
            raise RunError(f"{path} cannot be read ({error.strerror}); copy the whole export again") from None
        if found != wanted:
            raise RunError(f"{path} is damaged (its checksum does not match); copy the export again, or export again")
    decoding = parse(DecodingSettings, manifest["decoding"], f"{folder / MANIFEST}")
    source, target = Codec.load(folder, "source"), Codec.load(folder, "target")
    return Export(folder, source, target, decoding, manifest)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of an export. Raises RunError if it cannot be read."""
    path = folder / MANIFEST
    try:
        manifest = load_json(path)
        written = int(manifest["format"])
        _check(manifest)
        if CHECKSUM in manifest and not is_sealed(manifest):
            raise ValueError
    except FileNotFoundError:
        raise RunError(f"{folder} is not an export: {MANIFEST} is missing; make one with `dragoman export`") from None
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        raise RunError(f"{path} is damaged; copy the export again, or export again") from None
    if written > FORMAT:
        raise RunError(
            f"{folder} has format {written}, newer than the {FORMAT} that this version reads; update dragoman"
        )
    return dict(manifest)


def _check(manifest: Mapping[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError for a manifest that `dragoman export` cannot have written."""
    files, directions = manifest["files"], manifest.get("directions")
    trained = [manifest["languages"]] if directions is None else directions
    right = (
        isinstance(files, dict)
        and all(is_name(name) and isinstance(value, str) for name, value in files.items())
        and isinstance(manifest["decoding"], dict)
        and isinstance(trained, list)
        and len(trained) > 0
        and all(isinstance(pair, list) and list(map(type, pair)) == [str, str] for pair in trained)
        and type(manifest["positions"]) is int
        and manifest["positions"] > 0
        and manifest.get("usual") in (None, *trained)
        and isinstance(manifest["weights"], str)
        and isinstance(manifest["quantization"], str)
    )
    if not right:
        raise ValueError


def fresh_exports(run: Path) -> dict[str, Path]:
    """Return the exports in a run's folder that were made from its current weights, by quantisation."""
    weights = weights_digest(run / "model.safetensors")
    found: dict[str, Path] = {}
    for path in sorted((run / EXPORTS).glob(f"*/{MANIFEST}")) if weights else []:
        if path.parent.name.startswith("."):  # still being written and not verified
            continue
        try:
            manifest = read_manifest(path.parent)
        except RunError:
            continue
        if manifest["weights"] == weights:
            found[str(manifest["quantization"])] = path.parent
    return found


def checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the checksums of files in a folder."""
    return {name: file_checksum(folder / name) for name in sorted(names)}
