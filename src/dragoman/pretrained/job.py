"""The whole job of `dragoman import`: a pretrained model becomes an ordinary run, or it is said why it cannot."""

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.atomic import replacing
from dragoman.data.checksums import Checksums
from dragoman.errors import ImportModelError, RunError
from dragoman.pretrained.families import Description, describe
from dragoman.pretrained.folder import TensorFiles, is_kept, opened, read_config, read_json
from dragoman.pretrained.marian import is_marian, read_marian
from dragoman.pretrained.proof import ROUNDING, Proof, can_prove, prove
from dragoman.pretrained.tokenizers import CALLED, Prefixes, load_codecs
from dragoman.pretrained.weights import to_state
from dragoman.runs.folder import ORIGINAL, check_new, new_run, open_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.frames import near

BEAM = 5
"""Size of the beam, where a model does not say it."""


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
    prefixes: tuple[str, str] = ("", ""),
    say: Callable[[str], object] = lambda _: None,
) -> Imported:
    """Import the pretrained model `source` (a folder, a .zip or a name) as a new run in `out`.

    `languages` are its source and its target, where the model does not say them; `prefixes` are the words before every source
    of T5, and those with which its translations begin, where its configuration does not say them. Nothing is left behind unless
    the model computes what the original does, if that can be tested. Raises ImportModelError for a model that cannot be imported.
    """
    check_new(out, resumable=False)
    with opened(source) as folder, tempfile.TemporaryDirectory(prefix="dragoman-import-") as place:
        found = _read(folder, Path(place), Path(source).absolute().name.removesuffix(".zip"))
        description = describe(found.config, found.tensors)
        codecs = load_codecs(found.text, found.config, prefixes=_prefixes(languages, prefixes))
        _check_sizes(codecs, description, folder)
        recipe = _recipe(found, description, codecs, languages=languages)
        say(f"{found.name} is of the family {description.family}: reading its weights.")
        about = {
            "name": found.name,
            "family": description.family,
            "table_rows": description.table_rows,
            "raw": found.raw,
            "files": _checksums(folder),
        }
        try:
            with replacing(out.absolute()) as temporary:
                parameters = _write(temporary, recipe, codecs, found=found, description=description, about=about)
                proof = _proved(temporary, folder, found, say=say)
        except OSError as error:
            raise RunError(
                f"the run folder {out} cannot be written ({error.strerror}); choose another with --out, or make room"
            ) from None
    return Imported(out, description.family, parameters, proof)


def _prefixes(languages: tuple[str | None, str | None], prefixes: tuple[str, str]) -> Prefixes | None:
    """Return the prefixes of a direction, if there are any. Raises ImportModelError if the direction is not known."""
    source, target = languages
    if not any(prefixes):
        return None
    if source is None or target is None:
        raise ImportModelError("a prefix belongs to a direction; name the languages with `--from` and `--to`")
    return {(source, target): prefixes}


def _read(folder: Path, place: Path, name: str) -> Found:
    """Read a model in any of the forms in which it may be."""
    if is_marian(folder):
        config, tensors = read_marian(folder, place)
        return Found(name, config, tensors, place, raw=True)
    config = read_config(folder) | {CALLED: _from_name(name)[1]}
    for more in ("generation_config.json", "tokenizer_config.json"):
        if (folder / more).exists():
            table = read_json(folder / more)
            config |= {key: value for key, value in table.items() if more.startswith("gen") or key not in config}
    describe(config)  # refuses what it names before weights are looked for
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
    for path in found.text.iterdir():
        if is_kept(path.name) and path.is_file():
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
    if not proof.holds:
        raise ImportModelError(
            f"{original} was not imported: logits differ by {proof.logits:.2g} of the largest from those of {proof.reader}, more "
            f"than {ROUNDING:g}; this is a bug, please report it with the name of the model"
        )
    about = {**run.manifest[ORIGINAL], "proof": asdict(proof)}
    replace(run, manifest={**run.manifest, ORIGINAL: about}).save()
    return proof


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
    """Return the recipe of an imported run, which names no corpora."""
    beam = found.config.get("num_beams")
    table = {
        "about": f"Imported from {found.name}, a model of the family {description.family}.",
        "data": _languages(found, codecs, languages),
        "text": {"kind": "imported", "joint": description.shared},
        "model": description.settings.model_dump(mode="json"),
        "training": {"minutes": 30},
        "decoding": {"beam": beam if isinstance(beam, int) and beam > 1 else BEAM},
    }
    return parse(Recipe, table, where="the imported model")


def _languages(
    found: Found, codecs: tuple[Codec, Codec], given: tuple[str | None, str | None]
) -> dict[str, str | list[str] | None]:
    """Return the section `data` of an imported run: its languages, as the user gave them or as the model's files say."""
    source, target = given
    frames, starts = codecs[0].frames, codecs[1].starts
    sources = frames.languages("source")
    targets = starts.languages("target") or frames.languages("target")
    if source is None:
        source = _first(
            sources, _from_name(found.name)[0], found.config.get("source_lang"), found.config.get("src_lang")
        )
    if not sources and source is None:
        raise ImportModelError(f"{found.name} does not say its source language; name it with `--from`")
    if target is None:
        target = _first(
            targets, _from_name(found.name)[1], found.config.get("target_lang"), found.config.get("tgt_lang")
        )
    if not frames and not starts:
        if target is None:
            raise ImportModelError(f"{found.name} does not say its target language; name it with `--to`")
        return {"source": source, "target": target}
    sources, targets = sources or (str(source),), targets or sources
    for name, language, known in (("--from", given[0], sources), ("--to", given[1], targets)):
        if language is not None and language not in known:
            raise ImportModelError(f"{found.name} does not know `{name} {language}`{near(language, known)}")
    usual = source in sources and target in targets and source != target
    return {
        "source": source if usual else None,
        "target": target if usual else None,
        "languages": list(dict.fromkeys((*sources, *targets))),
    }


def _first(known: tuple[str, ...], *names: object) -> str | None:
    """Return the first name of a language, which is a known one if any are known."""
    return next((one for one in names if isinstance(one, str) and one and (not known or one in known)), None)


def _from_name(name: str) -> tuple[str | None, str | None]:
    """Return the languages in the name of a model of OPUS-MT.

    >>> _from_name("opus-mt-tc-big-en-vi"), _from_name("nllb-200")
    (('en', 'vi'), (None, None))
    """
    found = re.fullmatch(r"opus-mt-(?:tc-[a-z]+-)?([a-z]{2,3})-([a-z]{2,3})", name)
    return (found[1], found[2]) if found else (None, None)
