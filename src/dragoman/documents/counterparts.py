"""Which placeholders of a text and of its translation are the same, and so where an element around nothing else belongs.

Links between words seldom tell that surely, and a program that writes a field anew, such as the number of a page, must find in it
what it wrote before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.documents.alignment import Alignment, Range
from dragoman.documents.placeholders import Placeholder, is_marked, placeholders
from dragoman.documents.projection import Span


def places_of(alignment: Alignment, spans: Sequence[Span]) -> dict[int, Range]:
    """Return where the elements belong that are around a placeholder and nothing else, as those of dates and page numbers are.

    >>> from dragoman.documents.alignment import align
    >>> places_of(align("Page 1 of 5", "Trang 1 / 5", [(0, 0), (0, 1)]), [Span(5, 6), Span(10, 11)])
    {0: (6, 7), 1: (10, 11)}
    """
    found = counterparts(alignment)
    owns = {number: _without_blanks(alignment.source, span) for number, span in enumerate(spans) if not span.alone}
    return {number: found[own] for number, own in owns.items() if own in found}


def counterparts(alignment: Alignment) -> dict[Range, Range]:
    """Return the place of each placeholder, and of several with only signs between them, in the translation.

    Of equal ones, those that are linked belong together; the others do in their order.
    """
    found: dict[Range, Range] = {}
    marked = is_marked(alignment.source)
    here, there = (placeholders(text, marked=marked) for text in (alignment.source, alignment.target))
    for owns, others in ((here, there), (_joined(alignment.source, here), _joined(alignment.target, there))):
        for value in {one.value for one in owns}:
            own, other = ([_place(one) for one in some if one.value == value] for some in (owns, others))
            found |= _paired(own, other, alignment)
    return found


def _paired(own: Sequence[Range], other: Sequence[Range], alignment: Alignment) -> Iterator[tuple[Range, Range]]:
    """Yield the pairs of equal placeholders; none where the translation has fewer."""
    if len(other) < len(own):
        return
    left, waiting = list(other), []
    for one in own:
        linked = next((some for some in left if _are_linked(one, some, alignment)), None)
        if linked is None:
            waiting.append(one)
        else:
            left.remove(linked)
            yield one, linked
    yield from zip(waiting, left, strict=False)


def _are_linked(own: Range, other: Range, alignment: Alignment) -> bool:
    """Tell whether a word that has a part of one range is linked to one that has a part of the other."""
    words = {i for i, word in enumerate(alignment.source_words) if _meet(word, own)}
    return any(i in words and _meet(alignment.target_words[j], other) for i, j in alignment.links)


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


def _place(one: Placeholder) -> Range:
    """Return where a placeholder is."""
    return one.start, one.end


def _without_blanks(text: str, span: Span) -> Range:
    """Return the place of an element without the white space at its ends."""
    own = text[span.start : span.end]
    return span.start + len(own) - len(own.lstrip()), span.end - len(own) + len(own.rstrip())


def _meet(one: Range, other: Range) -> bool:
    """Tell whether two ranges share a character."""
    return one[0] < other[1] and other[0] < one[1]
