"""What a document is for a translator: segments of text, and a way to write it back with other text in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dragoman.documents.containment import Span


@dataclass(frozen=True)
class Segment:
    """A text to be translated as a whole: a paragraph, a cell, a sentence over several subtitles."""

    text: str
    spans: tuple[Span, ...] = ()
    """The elements in it."""
    breaks: tuple[int, ...] = ()
    """Places where a sentence must end, such as line breaks."""
    cuts: tuple[int, ...] = ()
    """Places where one part ends and the next begins, as subtitles do; spans do not go across them."""
    beside: bool = False
    """Whether its translation stands beside it in the document, and is written even where it is equal."""


@runtime_checkable
class Document(Protocol):
    """A document that was read."""

    @property
    def segments(self) -> Sequence[Segment]:
        """Its segments, in order."""

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the document with translated segments; one that is None stays as it is, byte for byte."""
