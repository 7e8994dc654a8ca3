"""The doctor before training: examine the corpora of a recipe once, and refuse those with errors."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text
from dragoman.data.corpus import read_pairs
from dragoman.data.corpus_settings import PhrasebookSettings
from dragoman.data.findings import Finding
from dragoman.data.store import fingerprints
from dragoman.doctor.examine import VERSION, Verdict, examine
from dragoman.doctor.languages import identifier_missing, no_room
from dragoman.doctor.pairs import BlankPair, BlankSide
from dragoman.doctor.sizes import Limits
from dragoman.doctor.vocabulary import NAMES, TEXTS, vocabulary_findings
from dragoman.errors import CorpusError, SettingsError, shell_path
from dragoman.jobs.checks import smallest_outline
from dragoman.jobs.parts import model_of
from dragoman.json_files import load_json
from dragoman.runs.recipe import Recipe
from dragoman.text.codec import Codec

CLOSER = "closer with `dragoman check RECIPE --report page.html` and the same --set"
TOLD_LATER = (BlankSide.name, BlankPair.name)
"""Findings that training reports itself, when it leaves these pairs out."""
REFUSED_BY_READERS = frozenset(["line-counts", "invalid-utf8", "missing-columns", "unreadable-object"])
"""Findings that stop training whether or not the corpora are examined."""
OF_SIZE = NAMES[1:]
"""Findings whose advice is another size of the vocabulary."""


def limits_of(recipe: Recipe) -> Limits:
    """Return what a recipe allows; what is still `auto` limits nothing."""
    weights = None
    if not any(path.startswith(("model.", "text.")) for path in recipe.auto):
        with suppress(RuntimeError, OverflowError, SettingsError):
            weights = sum(weight.numel() for weight in smallest_outline(recipe).model.parameters())
    model, start = model_of(recipe), getattr(recipe.model, "start_from", None)
    return Limits(
        recipe.data.filters,
        (model.source_positions, model.target_positions),
        by_character=recipe.text.kind == "characters",
        weights=weights,
        trained=start is not None and start.whole is not None,
        validated=None if "training.validate_sentences" in recipe.auto else recipe.training.validate_sentences,
    )


def check_data(recipe: Recipe, run: Path, say: Callable[[str], object], *, lasts: bool = True) -> int:
    """Examine the corpora of a new run, unless its recipe says not to or has only the built-in one; `say` gets the warnings.

    The verdict is kept in the folder `.cache` beside the run under a checksum of the corpora, of where they are, which it names,
    and of what they are compared with, so that nothing is examined twice. A run that `lasts` will have a recipe.yaml, with
    which to look closer. Returns the number of training pairs, 0 if none was examined. Raises CorpusError for errors.
    """
    corpora = (*recipe.data.train, *recipe.data.dev, *recipe.data.test)
    if not recipe.data.check or all(isinstance(corpus, PhrasebookSettings) for corpus in corpora):
        return 0
    limits, cache = limits_of(recipe), run.parent / ".cache"
    parts = {part: getattr(recipe.data, part) for part in ("train", "dev", "test")}
    described = {
        "version": VERSION,
        "identifier": not identifier_missing(),
        "limits": repr(limits),
        "root": str(recipe.data.root),
        **{part: fingerprints(recipe.data, some, cache / "checksums.json") for part, some in parts.items()},
    }
    name = hashlib.sha256(json.dumps(described, sort_keys=True).encode("ascii")).hexdigest()[:20]
    place = cache / f"verdict-{name}.json"
    known = _known(place)
    if known is None:
        verdict = examine(recipe.data, limits=limits)
        known = _Known(verdict.findings, sum(one.pairs for one in verdict.corpora if one.part == "train"))
        if not no_room():
            _keep(place, verdict)  # what there was no room for may be possible next time
    errors = [finding for finding in known.findings if finding.severity == "error"]
    if errors:
        others = "; ".join(f"{finding.place} {finding.what}" for finding in errors[1:])
        more = f" (and {len(errors) - 1} more: {others})" if others else ""
        anyway = ", or train all the same with `--set data.check=false`"
        readable = not any(one.name in REFUSED_BY_READERS for one in errors)
        raise CorpusError(f"{errors[0].sentence}{more}; look {CLOSER}{anyway * readable}")
    if _warn(known.findings, say):
        written = shell_path(run / "recipe.yaml")
        itself = f"Once training has started, look closer with: dragoman check {written} --report page.html"
        say(itself if lasts else f"Look {CLOSER}.")
    return known.pairs


def check_vocabularies(
    recipe: Recipe, codecs: tuple[Codec, Codec], pairs: int, *, sized: bool, say: Callable[[str], object]
) -> None:
    """Judge the vocabularies of a new run, if it has its own, by so many training pairs; `say` gets the warnings.

    `sized` says whether the user has chosen their size, which only then is judged.
    """
    if not pairs or recipe.text.kind == "imported":
        return
    trained, dev = (
        [pair for corpus in some for pair in islice(read_pairs(corpus, recipe.data), TEXTS // len(some))]
        for some in (recipe.data.train, recipe.data.dev)
    )
    for codec, side in zip(codecs, ("source", "target"), strict=True):
        texts, others = ([getattr(pair, side) for pair in some] for some in (trained, dev))
        found = vocabulary_findings(codec, side, trained=texts, pairs=pairs, dev=others)
        _warn((one for one in found if sized or one.name not in OF_SIZE), say)


@dataclass(frozen=True)
class _Known:
    """What is used of a verdict."""

    findings: list[Finding]
    pairs: int
    """Training pairs."""


def _known(path: Path) -> _Known | None:
    """Read a verdict that was kept; None if there is none, or it is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        table: dict[str, Any] = load_json(path)
        pairs = sum(one["pairs"] for one in table["corpora"] if one["part"] == "train")
        return _Known([Finding.from_table(one) for one in table["findings"]], pairs)
    return None


def _keep(path: Path, verdict: Verdict) -> None:
    """Keep a verdict; if the folder is not writable, only time is lost."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(verdict.table(), ensure_ascii=False) + "\n")


def _warn(findings: Iterable[Finding], say: Callable[[str], object]) -> bool:
    """Say each warning that training does not give itself, a line each; return whether there was any."""
    warnings = [one for one in findings if one.severity == "warning" and one.name not in TOLD_LATER]
    for finding in warnings:
        say(f"Data: {finding.sentence}.")
    return bool(warnings)
