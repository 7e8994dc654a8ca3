"""Load runs for commands, and report it if that takes long."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import announced, note
from dragoman.cli.options import Languages

if TYPE_CHECKING:
    from dragoman.inference.ctranslate2.translator import ExportedTranslator
    from dragoman.inference.translator import Translator
    from dragoman.runs.folder import Run
    from dragoman.text.frames import Between


def load_translator(*runs: Path, device: str, **decoding: Any) -> "Translator":
    """Load the translator of a run, or of several as an ensemble; keyword arguments change decoding settings."""
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.translator import Translator

        translator = Translator.load(*runs, device=device, **decoding)
    note_searches(translator, decoding)
    return translator


def note_searches(translator: "Translator | ExportedTranslator", decoding: Collection[str]) -> None:
    """Note where the other runs of an ensemble would search otherwise than the first, but for settings that `decoding` gives."""
    runs: Sequence[Run] = getattr(translator.engine, "runs", ())
    for other in runs[1:]:
        own, its = runs[0].recipe.decoding, other.recipe.decoding
        names = (name for name in type(own).model_fields if name not in decoding)
        if changed := [f"`{name}`" for name in names if getattr(own, name) != getattr(its, name)]:
            note(
                f"The ensemble searches as {runs[0].folder} does; {other.folder} alone would have another {', '.join(changed)}."
            )


def load_alone(run: Path, *, device: str) -> "Translator":
    """Load a run to which translations are given, so that it needs no others to rerank its own."""
    from dragoman.decoding.settings import ALONE

    return load_translator(run, device=device, **ALONE)


def choose_languages(translator: "Translator | ExportedTranslator", languages: Languages) -> "Between":
    """Return the source language, where it is known, and the target language; note what to expect of an unseen pair."""
    direction = translator.directions.choose(languages.source_language, languages.to)
    if remark := translator.directions.remark(direction):
        note(remark)
    return direction
