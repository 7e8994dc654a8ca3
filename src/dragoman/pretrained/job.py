"""The whole job of `dragoman import`: a pretrained model becomes an ordinary run, or it is said why it cannot."""

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.conversion.job import sample
from dragoman.data.checksums import Checksums
from dragoman.data.ledger import record
from dragoman.decoding.settings import LARGEST_PENALTY
from dragoman.errors import ExportError, ImportModelError
from dragoman.machine.processes import for_one_process
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.pretrained import own_export
from dragoman.pretrained.families import Description, describe
from dragoman.pretrained.folder import TOKENIZER_CONFIG, TensorFiles, is_kept, name_of, opened, read_config, read_json
from dragoman.pretrained.huggingface_proof import prove_export
from dragoman.pretrained.huggingface_weights import layout_of
from dragoman.pretrained.marian import is_marian, read_marian
from dragoman.pretrained.proof import ROUNDING, Proof, can_prove, prove
from dragoman.pretrained.tokenizers import CALLED, READ, WRITTEN, Prefixes, load_codecs
from dragoman.pretrained.weights import to_state
from dragoman.runs.folder import ORIGINAL, Run, check_new, new_run, open_run, replacing_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.frames import near

EXPORTED = "exported"
"""Entry of a manifest on the export that a run was made from."""
BEAM = 5
"""Size of the beam, where a model does not say it."""

ALIKE = 0.5
"""Share of test sentences with the same tokens below which two tokenisers are not the same; few differ on purpose."""
GENERATION = "generation_config.json"
DEFAULT_LENGTH = 20
"""`max_length` of models that were saved without one."""
LEFT_OUT: Mapping[str, Any] = {
    "do_sample": False,
    "min_length": 0,
    "min_new_tokens": 0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
    "suppress_tokens": [],
    "begin_suppress_tokens": [],
    "sequence_bias": {},
    "diversity_penalty": 0.0,
    "exponential_decay_length_penalty": None,
    "force_words_ids": None,
    "forced_decoder_ids": None,
    "word-penalty": 0.0,
}
"""Settings of generation that change translations and are not taken over, and the values with which they do nothing."""


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
    own: bool = False
    """Whether Dragoman exported it."""


@dataclass(frozen=True)
class Imported:
    """The outcome of an import."""

    folder: Path
    family: str
    parameters: int
    proof: Proof | None
    """None if nothing is installed that could compute the same."""


@for_one_process
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
    with opened(source) as folder, _converted(folder) as place:
        found = _read(folder, Path(place), name_of(source), target=languages[1])
        description = describe(found.config, found.tensors)
        codecs = _codecs(found, _prefixes(languages, prefixes))
        _check_sizes(codecs, description, folder)
        recipe = _recipe(found, description, codecs, languages=languages)
        say(f"{found.name} is of the family {description.family}: reading its weights.")
        if (names := _left_out(found, codecs[1])) and not found.own:
            say(
                f"Generation settings that are not taken over: {', '.join(f'`{name}`' for name in names)}; translations can "
                "differ from the original's."
            )
        about = {
            "name": found.name,
            "family": description.family,
            "table_rows": description.table_rows,
            "raw": found.raw,
            "dtype": _dtype(found.tensors),
            "files": _checksums(folder),
        }
        with replacing_run(out) as temporary:
            parameters = _write(temporary, recipe, codecs, found=found, description=description, about=about)
            proof = _proved(temporary, folder, found, say=say)
    return Imported(out, description.family, parameters, proof)


def _converted(folder: Path) -> AbstractContextManager[str]:
    """Return a temporary folder for the files of a model in Marian's own form, which are converted first."""
    return tempfile.TemporaryDirectory(prefix="dragoman-import-") if is_marian(folder) else nullcontext("")


def _codecs(found: Found, prefixes: Prefixes | None) -> tuple[Codec, Codec]:
    """Read the codecs of a model."""
    if not found.own:
        return load_codecs(found.text, found.config, prefixes=prefixes)
    if prefixes:
        raise ImportModelError(
            f"a prefix of words is only for T5, not for {found.name}, which Dragoman exported; remove it"
        )
    return own_export.read_codecs(found.text, found.config)


def _prefixes(languages: tuple[str | None, str | None], prefixes: tuple[str, str]) -> Prefixes | None:
    """Return the prefixes of a direction, if there are any. Raises ImportModelError if the direction is not known."""
    source, target = languages
    if not any(prefixes):
        return None
    if source is None or target is None:
        raise ImportModelError("a prefix belongs to a direction; name the languages with `--from` and `--to`")
    return {(source, target): prefixes}


def _read(folder: Path, place: Path, name: str, *, target: str | None) -> Found:
    """Read a model in any of the forms in which it may be; `target` is the language to translate into, where it was given."""
    if is_marian(folder):
        config, tensors = read_marian(folder, place)
        return Found(name, config, tensors, place, raw=True)
    config = read_config(folder) | {CALLED: _from_name(name)[1], WRITTEN: target}
    generation, text = (
        read_json(path) if path.exists() else {} for path in (folder / GENERATION, folder / TOKENIZER_CONFIG)
    )
    config |= generation | {entry: text[entry] for entry in READ if entry in text}
    describe(config)  # refuses what it names before weights are looked for
    if own_export.MARK in config:
        return Found(name, *own_export.apart(config, TensorFiles(folder)), folder, own=True)
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
    run = new_run(folder, recipe, codecs, metadata={"data": {}, EXPORTED if found.own else ORIGINAL: about})
    run.save()
    state = to_state(found.tensors, description)
    run.files.save(run.weights, state, {"step": 0})
    if not found.own:
        kept = folder / ORIGINAL
        kept.mkdir()
        for path in found.text.iterdir():
            if is_kept(path.name) and path.is_file():
                shutil.copyfile(path, kept / path.name)
        record(folder, kept.iterdir())
    return sum(tensor.numel() for tensor in state.values())


def _proved(folder: Path, original: Path, found: Found, *, say: Callable[[str], object]) -> Proof | None:
    """Compare the run with the original, where something is installed that computes it, and note it in the manifest."""
    if found.raw or not can_prove():
        say(
            "Not compared with Marian itself, which Dragoman does not run."
            if found.raw
            else "Not compared with the original, because transformers is not installed (`pip install transformers`)."
        )
        return None
    run, entry = open_run(folder), EXPORTED if found.own else ORIGINAL
    proof = _proof_of_own(run, original) if found.own else prove(run, original)
    if not proof.holds:
        raise ImportModelError(
            f"{original} was not imported: logits differ by {proof.logits:.2g} of the largest from those of {proof.reader}, more "
            f"than {ROUNDING:g}; this is a bug, please report it with the name of the model"
        )
    if proof.tokens is not None and proof.tokens < ALIKE:
        say(
            f"Warning: {proof.reader} cuts {1 - proof.tokens:.0%} of {proof.sentences} test sentences into other tokens, so it "
            "translates otherwise; are these the files of this model's tokeniser?"
        )
    replace(run, manifest={**run.manifest, entry: {**run.manifest[entry], "proof": asdict(proof)}}).save()
    return proof


def _proof_of_own(run: Run, folder: Path) -> Proof:
    """Compare a run with the export that it was made from: tokens, logits and greedy translations."""
    settings = run.recipe.model
    assert isinstance(settings, TransformerSettings)
    layout = layout_of(settings, len(run.source), len(run.target))
    try:
        return prove_export(run, folder, layout, pairs=sample(run, settings))
    except ExportError as error:
        raise ImportModelError(f"{folder} was not imported: {str(error).partition('because ')[2]}") from None


def _dtype(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the type that all weights of a model have, such as `float16`; None if they differ.

    >>> import torch
    >>> _dtype({"a": torch.zeros(1), "b": torch.zeros(1)}), _dtype({"a": torch.zeros(1), "b": torch.zeros(1).half()})
    ('float32', None)
    """
    types = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values() if tensor.is_floating_point()}
    return types.pop() if len(types) == 1 else None


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
    about = f"Imported from {found.name}, a model of the family {description.family}."
    model = {"model": description.settings.model_dump(mode="json")}
    if found.own:
        table = {"about": about, **model, **own_export.sections(found.config)}
        return _checked(parse(Recipe, table, where="the imported model"), found, languages)
    table = {
        "about": about,
        "data": _languages(found, codecs, languages),
        "text": {"kind": "imported", "joint": description.shared},
        **model,
        "training": {"minutes": 30},
        "decoding": _decoding(found.config, begun=2 if codecs[1].starts else 1),
    }
    return parse(Recipe, table, where="the imported model")


def _decoding(config: Mapping[str, Any], *, begun: int) -> dict[str, Any]:
    """Return the section `decoding` of an imported run: what its generation settings say.

    Hugging Face's beam search divides by length ** length_penalty, and counts the tokens that a target begins with (`begun`) and
    EOS in `max_length`, whose old default says nothing about a model, and which counts one more than `max_new_tokens`.
    """
    beam, longest, new = (config.get(name) for name in ("num_beams", "max_length", "max_new_tokens"))
    longest = new + 1 if type(new) is int else None if longest == DEFAULT_LENGTH else longest
    found: dict[str, Any] = {"beam": beam if type(beam) is int and beam > 0 else BEAM}
    if (penalty := _penalty(config)) is not None:
        found |= {"length_normalisation": "average", "length_penalty": penalty}
    if isinstance(ngram := config.get("no_repeat_ngram_size"), int) and ngram > 0:
        found["no_repeat_ngram"] = ngram
    if isinstance(longest, int) and longest > begun + 1:
        found["maximum_length"] = longest - begun - 1
    return found


def _penalty(config: Mapping[str, Any]) -> float | None:
    """Return the exponent of lengths, which is 1 unless a model says another; None for one that no run can have."""
    given = config.get("length_penalty")
    given = 1.0 if given is None else given
    return float(given) if isinstance(given, int | float) and 0 <= given <= LARGEST_PENALTY else None


def _left_out(found: Found, target: Codec) -> list[str]:
    """Return the names of the settings of generation that would change translations, and that `_decoding` leaves out."""
    words, never = found.config.get("bad_words_ids"), [[index] for index in target.special.unwritten]
    forbidden = any(one not in never for one in words) if isinstance(words, list) else words is not None
    forced = found.config.get("forced_bos_token_id") is not None and not target.starts
    changed = [name for name, neutral in LEFT_OUT.items() if found.config.get(name) not in (None, neutral)]
    odd = _penalty(found.config) is None
    return ["bad_words_ids"] * forbidden + ["forced_bos_token_id"] * forced + ["length_penalty"] * odd + changed


def _checked(recipe: Recipe, found: Found, given: tuple[str | None, str | None]) -> Recipe:
    """Return the recipe of an exported run. ImportModelError for languages that are not its own."""
    own = (recipe.data.source, recipe.data.target)
    for name, language, known in zip(("--from", "--to"), given, own, strict=True):
        if language not in (None, known, *recipe.data.tags):
            raise ImportModelError(
                f"{found.name} does not know `{name} {language}`; leave it out, it says its languages"
            )
    return recipe


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
        "source": source if usual or len(sources) == 1 else None,
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
