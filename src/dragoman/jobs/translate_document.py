"""Translate a document: its sentences, each different one once, and the document written again with all tags and placeholders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dragoman.atomic import check_output, write_output
from dragoman.data.directions import Languages
from dragoman.documents.alignment import Alignment, align, by_position, join, unchanged, words_of
from dragoman.documents.placeholders import is_translatable
from dragoman.documents.reading import Reading, check_name, open_document
from dragoman.documents.segments import Segment
from dragoman.documents.sentences import gaps, sentences
from dragoman.documents.transfer import Transferred, is_written, transfer
from dragoman.errors import InputError, number_of
from dragoman.inference.translation import TermCounts, Translation

CHUNK = 256
"""Number of sentences translated together."""


class SentenceTranslator(Protocol):
    """A run, an export, or anything else that translates sentences as they do."""

    @property
    def previous(self) -> int:
        """Maximum number of previous sentences that are read."""

    @property
    def attends(self) -> bool:
        """Whether there is attention to the source."""

    @property
    def view(self) -> Any:
        """What makes links between words of attention, a `HeadSelection`; None without attention."""

    def translate(
        self,
        sentences: Sequence[str],
        *,
        attention: bool,
        previous: Sequence[Sequence[str]] | None,
        to: Languages,
        **decoding: Any,
    ) -> list[Translation]:
        """Translate sentences, in their order."""


@dataclass(frozen=True)
class Summary:
    """What was done to a document."""

    segments: int
    sentences: int
    """Number of different sentences that were translated."""
    placeholders: int
    """Number of placeholders and numbers that the translation had lost, changed or added, and that were mended."""
    tags: int
    """Number of tags of whose words some are outside of them now, or that lost all of their words."""
    left: int
    """Number of segments left untranslated because they could not be mended."""
    terms: TermCounts = field(default_factory=TermCounts)
    """The terms of the glossary, counted once for each different sentence."""

    def __str__(self) -> str:
        if not self.sentences:
            return "Nothing to translate was found; translated text, placeholders, numbers and code stay as they are."
        text = f"Translated {number_of(self.sentences, 'different sentence')} in {number_of(self.segments, 'segment')}."
        if self.placeholders or self.tags:
            mended = number_of(self.placeholders, "placeholder or number", "placeholders or numbers")
            text += f" Mended {mended} and {number_of(self.tags, 'tag')}."
        if self.left:
            text += f" Left as in the source, for want of mending: {number_of(self.left, 'segment')}."
        if self.terms.matched:
            text += f" {self.terms}"
        return text


def translate_document(
    translator: SentenceTranslator,
    path: Path,
    output: Path,
    *,
    reading: Reading | None = None,
    to: Languages = None,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> Summary:
    """Translate a document into the file `output`; `report` is told how many sentences are done, and of how many.

    Raises InputError for a document that cannot be read, before anything is translated.
    """
    if output.exists() and path.exists() and output.samefile(path):
        raise InputError(f"{output} is the document itself; name another file for the translation")
    check_name(output, path, reading)
    check_output(output)
    document = open_document(path, reading)
    found = translate_segments(translator, document.segments, to=to, report=report)
    write_output(output, document.written([None if one is None else one.segment for one in found.segments]))
    return found.summary


@dataclass(frozen=True)
class Translated:
    """Translated segments, None for each that stays as it is."""

    segments: Sequence[Transferred | None]
    summary: Summary


def translate_segments(
    translator: SentenceTranslator,
    segments: Sequence[Segment],
    *,
    to: Languages = None,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> Translated:
    """Translate segments; the arguments are those of `translate_document`."""
    places = [sentences(one.text, one.breaks) for one in segments]
    wanted = {
        one.text[start:end]: None
        for one, some in zip(segments, places, strict=True)
        for start, end in some
        if is_translatable(one.text[start:end])
    }
    found_terms: list[TermCounts] = []
    aligned = dict(_translate(translator, list(wanted), found_terms, to=to, report=report))
    out: list[Transferred | None] = []
    left = 0
    for segment, some in zip(segments, places, strict=True):
        if not any(segment.text[start:end] in aligned for start, end in some):
            out.append(Transferred(segment, 0, 0) if segment.beside else None)
            continue
        found = transfer(segment, _whole(segment, some, aligned))
        left += found is None
        out.append(found if is_written(segment, found) else None)
    done = [one for one in out if one is not None]
    count = sum(one.placeholders for one in done), sum(one.tags for one in done)
    terms = sum(found_terms, TermCounts())
    return Translated(out, Summary(len(segments), len(wanted), *count, left, terms))


def _translate(
    translator: SentenceTranslator,
    texts: Sequence[str],
    terms: list[TermCounts],
    *,
    to: Languages,
    report: Callable[[int, int], None],
) -> Iterator[tuple[str, Alignment]]:
    """Yield each text with the alignment of its translation; texts of about one length are translated together.

    How many `terms` of a glossary were met is added to the list.
    """
    ordered = sorted(texts, key=len)
    for start in range(0, len(ordered), CHUNK):
        report(start, len(ordered))
        chunk = ordered[start : start + CHUNK]
        previous: list[list[str]] | None = [[] for _ in chunk] if translator.previous else None
        flat = [" ".join(text.split()) for text in chunk]
        found = translator.translate(flat, attention=translator.attends, n_best=1, previous=previous, to=to)
        terms.append(TermCounts.of(found))
        for text, translation in zip(chunk, found, strict=True):
            yield text, _aligned(text, translation, translator.view)
    report(len(ordered), len(ordered))


def _aligned(text: str, translation: Translation, view: Any) -> Alignment:
    """Return the alignment of a translation by its attention, or by position where there is none or it counts other words."""
    target = " ".join(translation.text.split())
    reading = translation.reading
    if reading is None or view is None:
        return align(text, target)
    sides = (len(reading.source.words), len(reading.target.words))
    if sides != (len(words_of(text)), len(words_of(target))):
        return align(text, target)
    return align(text, target, view.links(reading).possible or by_position(text, target))


def _whole(segment: Segment, places: Sequence[tuple[int, int]], aligned: Mapping[str, Alignment]) -> Alignment:
    """Return the alignment of a whole segment; what is between its sentences, or was not translated, is the same in both."""
    parts = []
    for start, end in places:
        text = segment.text[start:end]
        parts.append(aligned.get(text) or unchanged(text))
    return join(parts, gaps(segment.text, places))
