"""A translated text gets what its source has beside words: placeholders, tags, and the places where it is divided."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dragoman.documents.alignment import Alignment
from dragoman.documents.containment import Span
from dragoman.documents.counterparts import places_of
from dragoman.documents.mending import mend
from dragoman.documents.placeholders import conserved
from dragoman.documents.projection import divide, nests, project
from dragoman.documents.segments import Segment


@dataclass(frozen=True)
class Transferred:
    """A translated segment, and how many placeholders and tags had to be mended in it."""

    segment: Segment
    placeholders: int
    tags: int


def transfer(segment: Segment, alignment: Alignment) -> Transferred | None:
    """Return the translation of a segment with all of its placeholders and tags; None if that is impossible.

    >>> from dragoman.documents.alignment import align
    >>> found = transfer(Segment("see <> %s", (Span(4, 6),)), align("see <> %s", "xem <>"))
    >>> found.segment.text, found.segment.spans[0].start, found.placeholders
    ('xem <> %s', 4, 1)
    """
    mended = mend(alignment)
    alignment = mended.alignment
    cuts = divide(alignment, segment.cuts) if segment.cuts else []
    inner, outer = [0, *segment.cuts, len(segment.text)], [0, *cuts, len(alignment.target)]
    parts = len(inner) - 1 if segment.cuts else 0
    spans = _within_parts(segment.spans, inner) if parts else segment.spans
    fixed = places_of(alignment, spans) | {number: (outer[number], outer[number + 1]) for number in range(parts)}
    found = project(alignment, spans, fixed)
    if not conserved(segment.text, found.text):  # a space can make a placeholder of what was none
        found = project(alignment, spans, fixed, spaces=False)
    starts = [one.start for one in found.spans[:parts]]
    own = tuple(
        replace(one, parent=None if one.parent is None or one.parent < parts else one.parent - parts)
        for one in found.spans[parts:]
    )
    if not conserved(segment.text, found.text) or not nests(found.spans, len(found.text)):
        return None
    return Transferred(Segment(found.text, own, cuts=tuple(starts[1:])), mended.count, found.mended)


def is_written(segment: Segment, found: Transferred | None) -> bool:
    """Tell whether a translation is written: one that equals its source only where both are in the document."""
    return found is not None and (segment.beside or found.segment.text != segment.text)


def _within_parts(spans: Sequence[Span], cuts: Sequence[int]) -> list[Span]:
    """Put an element around each part of a text, before all others, and the others into these."""
    count = len(cuts) - 1
    parts = [Span(start, end) for start, end in pairwise(cuts)]
    inside = []
    for span in spans:
        part = min(bisect_left(cuts, max(span.end, span.start + 1), 1), count) - 1
        inside.append(replace(span, parent=part if span.parent is None else span.parent + count))
    return parts + inside
