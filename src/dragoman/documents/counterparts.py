"""Which placeholders of a text and of its translation are the same, and so where an element around nothing else belongs.

Links between words seldom tell that surely, and a program that writes a field anew, such as the number of a page, must find in it
what it wrote before.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from dragoman.documents.alignment import Alignment, Range, meeting
from dragoman.documents.containment import Span
from dragoman.documents.placeholders import Placeholder, is_marked, placeholders


def places_of(alignment: Alignment, spans: Sequence[Span]) -> dict[int, Range]:
    """Return where the elements belong that are around a placeholder and nothing else, as those of dates and page numbers are.

    >>> from dragoman.documents.alignment import align
    >>> places_of(align("Page 1 of 5", "Trang 1 / 5", [(0, 0), (0, 1)]), [Span(5, 6), Span(10, 11)])
    {0: (6, 7), 1: (10, 11)}
    """
    owns = {number: _without_blanks(alignment.source, span) for number, span in enumerate(spans) if not span.alone}
    found = counterparts(alignment) if owns else {}
    return {number: found[own] for number, own in owns.items() if own in found}


def counterparts(alignment: Alignment) -> dict[Range, Range]:
    """Return the place of each placeholder, and of several with only signs between them, in the translation.

    Of equal ones, those that are linked belong together; the others do in their order.
    """
    found: dict[Range, Range] = {}
    marked, targets = is_marked(alignment.source), alignment.targets_of()
    here, there = (placeholders(text, marked=marked) for text in (alignment.source, alignment.target))
    for owns, others in ((here, there), (_joined(alignment.source, here), _joined(alignment.target, there))):
        own, other = _by_value(owns), _by_value(others)
        for value, places in own.items():
            if len(other[value]) >= len(places):
                found |= _paired(places, other[value], alignment, targets=targets)
    return found


def _by_value(found: Sequence[Placeholder]) -> defaultdict[str, list[Range]]:
    """Return the places of equal placeholders, in order."""
    places: defaultdict[str, list[Range]] = defaultdict(list)
    for one in found:
        places[one.value].append((one.start, one.end))
    return places


def _paired(
    own: Sequence[Range], other: Sequence[Range], alignment: Alignment, *, targets: Sequence[Sequence[int]]
) -> dict[Range, Range]:
    """Return the pairs of equal placeholders, of which the translation has as many or more."""
    found: dict[Range, Range] = {}
    used: set[int] = set()
    for one in own:
        words = (alignment.target_words[j] for i in meeting(alignment.source_words, one) for j in targets[i])
        linked = next((n for word in words for n in meeting(other, word) if n not in used), None)
        if linked is not None:
            used.add(linked)
            found[one] = other[linked]
    waiting = (one for one in own if one not in found)
    left = (place for number, place in enumerate(other) if number not in used)
    return found | dict(zip(waiting, left, strict=False))


def _joined(text: str, found: Sequence[Placeholder]) -> list[Placeholder]:
    """Return placeholders, those with only signs between them as one: dates, times and the like."""
    joined: list[Placeholder] = []
    for one in found:
        last = joined[-1] if joined else None
        between = text[last.end : one.start] if last else ""
        if last and not any(sign.isalnum() or sign.isspace() for sign in between):
            value = f"{last.value}{between}{one.value}"
            joined[-1] = replace(last, end=one.end, text=text[last.start : one.end], value=value)
        else:
            joined.append(one)
    return joined


def _without_blanks(text: str, span: Span) -> Range:
    """Return the place of an element without the white space at its ends."""
    own = text[span.start : span.end]
    return span.start + len(own) - len(own.lstrip()), span.end - len(own) + len(own.rstrip())
