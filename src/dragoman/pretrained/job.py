"""The whole job of `dragoman import`: a pretrained model becomes an ordinary run, or it is said why it cannot."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.atomic import replacing
from dragoman.data.checksums import Checksums
from dragoman.errors import ImportModelError, RunError
from dragoman.pretrained.families import Description, describe
from dragoman.pretrained.folder import TensorFiles, opened, read_config, read_json
from dragoman.pretrained.marian import is_marian, read_marian
from dragoman.pretrained.proof import Proof, can_prove, prove
from dragoman.pretrained.tokenizers import load_codecs
from dragoman.pretrained.weights import to_state
from dragoman.runs.folder import Run, check_new, new_run, open_run
from dragoman.runs.recipe import Recipe
from dragoman.text.codec import Codec

ORIGINAL = "imported"
"""Entry of a run's manifest, and folder in the run, with what is kept of the model that it was imported from."""
KEPT = (".json", ".model", ".spm", ".txt", ".yml", ".md")
"""Endings of the files that are kept: all but weights and code."""
LARGEST_KEPT = 64 << 20
"""Bytes of the largest file that is kept."""


@dataclass(frozen=True)
class Found:
    """A pretrained model that was read."""

    name: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    text: Path
    """Folder with the files of its tokeniser."""
    raw: bool = False
    """Whether it is in Marian's own form."""


@dataclass(frozen=True)
class Imported:
    """The outcome of an import."""

    folder: Path
    family: str
    parameters: int
    proof: Proof | None
    """None if nothing is installed that could compute the same."""


def import_model(
    source: str,
    out: Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    say: Callable[[str], object] = lambda _: None,
) -> Imported:
    """Import the pretrained model `source` (a folder, a .zip or a name) as a new run in `out`.

    `languages` are its source and its target, where the model does not say them. Nothing is left behind unless the model
    computes what the original does, if that can be tested. Raises ImportModelError for a model that cannot be imported.
    """
    check_new(out, resumable=False)
    with opened(source) as folder, tempfile.TemporaryDirectory(prefix="dragoman-import-") as place:
        found = _read(folder, Path(place), Path(source).name.removesuffix(".zip"))
        description = describe(found.config)
        codecs = load_codecs(found.text, found.config)
        _check_sizes(codecs, description, folder)
        recipe = _recipe(found, description, codecs, languages=languages)
        say(f"{found.name} is of the family {description.family}: reading its weights.")
        about = {"name": found.name, "family": description.family, "files": _checksums(folder)}
        try:
            with replacing(out.absolute()) as temporary:
                parameters = _write(temporary, recipe, codecs, found=found, description=description, about=about)
                proof = _proved(temporary, folder, found, say=say)
        except OSError as error:
            raise RunError(
                f"the run folder {out} cannot be written ({error.strerror}); choose another with --out, or make room"
            ) from None
    return Imported(out, description.family, parameters, proof)


def _read(folder: Path, place: Path, name: str) -> Found:
    """Read a model in any of the forms in which it may be."""
    if is_marian(folder):
        config, tensors = read_marian(folder, place)
        return Found(name, config, tensors, place, raw=True)
    config = read_config(folder)
    for more in ("generation_config.json", "tokenizer_config.json"):
        if (folder / more).exists():
            table = read_json(folder / more)
            config |= {key: value for key, value in table.items() if more.startswith("gen") or key not in config}
    return Found(name, config, TensorFiles(folder), folder)


def _check_sizes(codecs: tuple[Codec, Codec], description: Description, folder: Path) -> None:
    """Raise ImportModelError for a tokeniser that does not belong to the weights."""
    for codec, size, side in zip(
        codecs, (description.source_size, description.target_size), ("source", "target"), strict=True
    ):
        if len(codec) != size:
            raise ImportModelError(
                f"the tokeniser in {folder} has {len(codec)} {side} pieces, but the model has {size} rows of embeddings; they do "
                "not belong together"
            )


def _write(
    folder: Path,
    recipe: Recipe,
    codecs: tuple[Codec, Codec],
    *,
    found: Found,
    description: Description,
    about: Mapping[str, Any],
) -> int:
    """Write a run into a new folder; return its number of parameters."""
    folder.mkdir(parents=True)
    run = new_run(folder, recipe, codecs, metadata={"data": {}, ORIGINAL: about})
    run.save()
    state = to_state(found.tensors, description)
    run.files.save(run.weights, state, {"step": 0})
    kept = folder / ORIGINAL
    kept.mkdir()
    for path in {*found.text.iterdir(), *found.text.glob("*.json")}:
        if path.suffix in KEPT and path.is_file() and path.stat().st_size <= LARGEST_KEPT:
            shutil.copyfile(path, kept / path.name)
    return sum(tensor.numel() for tensor in state.values())


def _proved(folder: Path, original: Path, found: Found, *, say: Callable[[str], object]) -> Proof | None:
    """Compare the run with the original, where something is installed that computes it, and note it in the manifest."""
    if found.raw or not can_prove():
        say(
            "Not compared with Marian itself, which is no library of Python."
            if found.raw
            else "Not compared with the original, because transformers is not installed (`pip install transformers`)."
        )
        return None
    run = open_run(folder)
    proof = prove(run, original)
    _with(run, {**run.manifest[ORIGINAL], "proof": proof.table()}).save()
    return proof


def _with(run: Run, about: Mapping[str, Any]) -> Run:
    """Return a run with another note on its origin."""
    return replace(run, manifest={**run.manifest, ORIGINAL: about})


def _checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a model."""
    checksums = Checksums()
    return {path.name: checksums.of(path) for path in sorted(folder.iterdir()) if path.is_file()}


def _recipe(
    found: Found,
    description: Description,
    codecs: tuple[Codec, Codec],
    *,
    languages: tuple[str | None, str | None],
) -> Recipe:
    """Return the recipe of an imported run."""
    raise NotImplementedError
