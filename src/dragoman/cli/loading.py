"""Load runs for commands, and report it if that takes long."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import announced, note
from dragoman.cli.options import Languages

if TYPE_CHECKING:
    from dragoman.inference.ctranslate2.translator import ExportedTranslator
    from dragoman.inference.translator import Translator
    from dragoman.text.frames import Between


def load_translator(*runs: Path, device: str, **decoding: Any) -> "Translator":
    """Load the translator of a run, or of several as an ensemble; keyword arguments change decoding settings."""
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.translator import Translator

        return Translator.load(*runs, device=device, **decoding)


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
