"""The doctor before training: examine the corpora of a recipe once, and refuse those with errors."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text
from dragoman.data.findings import Finding
from dragoman.data.settings import PhrasebookSettings
from dragoman.data.store import fingerprints
from dragoman.doctor.examine import VERSION, Verdict, examine
from dragoman.doctor.languages import identifier_missing
from dragoman.doctor.pairs import BlankPair, BlankSide
from dragoman.doctor.sizes import Limits
from dragoman.errors import CorpusError, SettingsError
from dragoman.jobs.checks import count_weights
from dragoman.jobs.rules import model_of
from dragoman.runs.recipe import Recipe

CLOSER = "look closer with `dragoman check RECIPE --report page.html`"
TOLD_LATER = (BlankSide.name, BlankPair.name)
"""Findings that training reports itself, when it leaves these pairs out."""


def limits_of(recipe: Recipe) -> Limits:
    """Return what a recipe allows; what is still `auto` limits nothing."""
    weights = None
    if not any(path.startswith(("model.", "text.")) for path in recipe.auto):
        with suppress(RuntimeError, OverflowError, SettingsError):
            weights = count_weights(recipe)
    model = model_of(recipe)
    return Limits(
        recipe.data.filters,
        (model.source_positions, model.target_positions),
        by_character=recipe.text.kind == "characters",
        weights=weights,
    )


def check_data(recipe: Recipe, cache: Path, say: Callable[[str], object]) -> None:
    """Examine the corpora of a recipe, unless it is told not to or has only the built-in corpus; `say` gets the warnings.

    The verdict is kept in the folder `cache` under a checksum of the corpora and of what they are compared with, so that
    nothing is examined twice. Raises CorpusError if there are errors.
    """
    corpora = (*recipe.data.train, *recipe.data.dev, *recipe.data.test)
    if not recipe.data.check or all(isinstance(corpus, PhrasebookSettings) for corpus in corpora):
        return
    limits = limits_of(recipe)
    described = {
        "version": VERSION,
        "identifier": not identifier_missing(),
        "limits": repr(limits),
        **{
            part: fingerprints(recipe.data, getattr(recipe.data, part), cache / "checksums.json")
            for part in ("train", "dev", "test")
        },
    }
    name = hashlib.sha256(json.dumps(described, sort_keys=True).encode("ascii")).hexdigest()[:20]
    findings = _known(cache / f"verdict-{name}.json")
    if findings is None:
        verdict = examine(recipe.data, limits=limits)
        findings = verdict.findings
        _keep(cache / f"verdict-{name}.json", verdict)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        sentences = "; ".join(f"{finding.place} {finding.what}" for finding in errors[1:])
        more = f" (and {len(errors) - 1} more: {sentences})" if sentences else ""
        raise CorpusError(f"{errors[0].sentence}{more}; {CLOSER}, or train all the same with `--set data.check=false`")
    warnings = [one for one in findings if one.severity == "warning" and one.name not in TOLD_LATER]
    for finding in warnings:
        say(f"Data: {finding.sentence}.")
    if warnings:
        say(f"{CLOSER[0].upper()}{CLOSER[1:]}.")


def _known(path: Path) -> list[Finding] | None:
    """Return the findings that were kept; None if there are none, or they are damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return [Finding.from_table(one) for one in table["findings"]]
    return None


def _keep(path: Path, verdict: Verdict) -> None:
    """Keep a verdict; if the folder is not writable, only time is lost."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(verdict.table(), ensure_ascii=False) + "\n")
