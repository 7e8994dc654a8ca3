"""One sentence on its way through an engine, and what comes out. Does not import torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import SettingsError
from dragoman.serving.interface import Options, Sentence
from dragoman.text.frames import Between
from dragoman.text.glossary import Entry

OPEN_SETTINGS = frozenset(
    {
        "method",
        "stopping",
        "length_normalisation",
        "length_penalty",
        "minimum_length",
        "no_repeat_ngram",
        "temperature",
        "top_k",
        "top_p",
        "seed",
    }
)
"""Decoding settings that a caller may change; others name files, or cost more than a caller may ask for."""
LONGEST_MINIMUM = 200
"""Maximum `minimum_length` that a caller may ask for."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for beside the translation of a sentence."""

    log_probs: bool = False
    alignment: bool = False
    attention: bool = False
    confidence: bool = False

    @classmethod
    def by(cls, options: Options) -> "Wanted":
        """Return what the options of a call ask for."""
        return cls(options.log_probs, options.alignment, options.attention, options.confidence)


@dataclass(frozen=True)
class Job:
    """A sentence to translate. Equal jobs have equal results."""

    text: str
    previous: tuple[str, ...]
    """The sentences before it in its document, nearest last, for models that read them."""
    between: Between
    settings: DecodingSettings
    wanted: Wanted = Wanted()
    terms: tuple[Entry, ...] = ()
    """The entries of the caller's glossary whose terms are in the sentence."""


@dataclass(frozen=True)
class Found:
    """The translation of a job and, best first, its alternatives."""

    best: Sentence
    alternatives: tuple[Sentence, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        return sum(
            500
            + 4 * (len(one.source) + len(one.text))
            + 150 * (len(one.tokens) + len(one.alignment) + len(one.word_confidence) + len(one.source_tokens))
            + 300 * len(one.terms)
            + 32 * len(one.attention) * len(one.source_tokens)
            for one in (self.best, *self.alternatives)
        )


def changes_of(options: Options) -> Mapping[str, Any]:
    """Return the decoding settings that a call changes. SettingsError for one that a caller may not change."""
    changes: dict[str, Any] = dict(options.decoding)
    for name, value in changes.items():
        if name not in OPEN_SETTINGS:
            raise SettingsError(
                f"`decoding.{name}` cannot be changed by a request; leave it out ({', '.join(sorted(OPEN_SETTINGS))} can)"
            )
        if name == "minimum_length" and isinstance(value, int | float) and value > LONGEST_MINIMUM:
            raise SettingsError(
                f"`decoding.minimum_length` is {value}; a request may ask for at most {LONGEST_MINIMUM}"
            )
    if options.beam is not None:
        changes["beam"] = options.beam
    if options.n_best > 1:
        changes["n_best"] = options.n_best
    return changes


def with_room(settings: DecodingSettings, options: Options) -> DecodingSettings:
    """Return settings whose beam has room for as many translations as a call asks for; greedy search has room for one.

    >>> [with_room(DecodingSettings(beam=2, method=one), Options(n_best=4)).size for one in ("beam", "greedy")]
    [4, 4]
    """
    wide = options.n_best > settings.size and options.beam is None and settings.method != "sample"
    return settings.model_copy(update={"method": "beam", "beam": options.n_best}) if wide else settings
