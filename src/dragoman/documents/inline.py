"""Text with tags in it: taken apart into text and elements, and put together again."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.documents.containment import DEEPEST, Span
from dragoman.documents.segments import Segment

Kind = Literal["text", "open", "close", "alone", "break"]
"""What a piece is: text; a tag that opens an element, closes it, or stands alone, also at a line break."""


@dataclass(frozen=True)
class Piece:
    """A piece of text with tags: decoded text, or a tag that the format knows how to write."""

    kind: Kind
    what: Any
    key: object = None
    """What the two tags of an element have in common."""
    loose: bool = False
    """Whether it begins or ends a range that may overlap elements, as bookmarks and fields do."""


@dataclass(frozen=True)
class Inline:
    """A segment, and what its elements are, in their order: the pieces that open and close them; a tag alone has only one."""

    segment: Segment
    tags: tuple[tuple[Piece, Piece | None], ...]
    overlapping: tuple[tuple[Piece, Piece], ...] = ()
    """The tags, each alone, at the begin and end of ranges that overlap elements."""

    def events(self, translated: Segment) -> list[Piece]:
        """Return the pieces of a translation that has the same elements, in order; a range begins before it ends."""
        pieces = list(self._placed(translated))
        places = {id(piece): at for at, piece in enumerate(pieces)} if self.overlapping else {}
        for begin, end in self.overlapping:
            first, second = places[id(begin)], places[id(end)]
            if second < first:
                pieces[first], pieces[second] = end, begin
        return pieces

    def _placed(self, translated: Segment) -> Iterator[Piece]:
        """Yield the pieces of a translation, each where its element is."""
        text, spans = translated.text, translated.spans
        children: dict[int | None, list[int]] = {}
        for number, span in enumerate(spans):
            children.setdefault(span.parent, []).append(number)
        for some in children.values():
            some.sort(key=lambda one: (spans[one].start, spans[one].end, one), reverse=True)
        done = 0
        waiting = [(number, False) for number in children.get(None, [])]
        while waiting:
            number, closes = waiting.pop()
            place = spans[number].end if closes else spans[number].start
            yield from _text(text[done:place])
            done = place
            opening, closing = self.tags[number]
            if closes and closing is not None:
                yield closing
                continue
            yield opening
            if closing is not None:
                waiting += [(number, True), *((child, False) for child in children.get(number, []))]
        yield from _text(text[done:])


def gather(pieces: Sequence[Piece]) -> Inline:
    """Return text and elements of pieces; tags without their counterpart, or that overlap others, stand alone: the loose ones,
    where these overlap elements.

    >>> found = gather([Piece("text", "a "), Piece("open", "<b>"), Piece("text", "b"), Piece("close", "</b>")])
    >>> found.segment.text, found.segment.spans
    ('a b', (Span(start=2, end=3, parent=None, alone=False),))
    """
    partners = _partners(pieces)
    text: list[str] = []
    spans: list[Span] = []
    tags: list[tuple[Piece, Piece | None]] = []
    breaks: list[int] = []
    open_: list[int] = []
    length = 0
    for number, piece in enumerate(pieces):
        if piece.kind == "text":
            text.append(piece.what)
            length += len(piece.what)
        elif piece.kind == "close" and number in partners:
            closed = open_.pop()
            spans[closed] = Span(spans[closed].start, length, spans[closed].parent)
        else:
            if piece.kind == "break":
                breaks.append(length)
            parent = open_[-1] if open_ else None
            pair = piece.kind == "open" and number in partners
            if pair:
                open_.append(len(spans))
            spans.append(Span(length, length, parent, alone=not pair))
            tags.append((piece, pieces[partners[number]] if pair else None))
    return Inline(Segment("".join(text), tuple(spans), tuple(breaks)), tuple(tags), _overlapping(pieces, partners))


def written(inline: Inline, translated: Segment, escape: Callable[[str], str]) -> str:
    """Return a translation with its tags, which are strings, and its text escaped."""
    return "".join(
        escape(piece.what) if piece.kind == "text" else str(piece.what) for piece in inline.events(translated)
    )


def _partners(pieces: Sequence[Piece]) -> dict[int, int]:
    """Return the number of the closing piece of each opening one, and the other way round."""
    waiting: list[int] = []
    by_key: defaultdict[object, list[int]] = defaultdict(list)
    fixed: list[int] = []
    """Those that wait and are not loose."""
    found: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        if piece.kind == "open":
            for some in (waiting, by_key[piece.key], *(() if piece.loose else (fixed,))):
                some.append(number)
        elif (
            piece.kind == "close"
            and (own := by_key[piece.key])
            and not (piece.loose and fixed and fixed[-1] >= own[-1])
        ):
            opened, last = own[-1], -1
            while last != opened:
                last = waiting.pop()
                for some in (by_key[pieces[last].key], *(() if pieces[last].loose else (fixed,))):
                    some.pop()
            found[opened], found[number] = number, opened
    return _not_too_deep(found)


def _not_too_deep(partners: Mapping[int, int]) -> dict[int, int]:
    """Return those of some partners that are no deeper in others than elements may be."""
    depth = 0
    found: dict[int, int] = {}
    for number in sorted(partners):
        ends = partners[number] < number
        depth -= ends
        if depth < DEEPEST:
            found[number] = partners[number]
        depth += not ends
    return found


def _overlapping(pieces: Sequence[Piece], partners: Mapping[int, int]) -> tuple[tuple[Piece, Piece], ...]:
    """Return the loose pieces that begin and end something, but are no partners."""
    begun: dict[object, Piece] = {}
    found = []
    for number, piece in enumerate(pieces):
        if piece.loose and number not in partners:
            if piece.kind == "open":
                begun[piece.key] = piece
            elif piece.key in begun:
                found.append((begun.pop(piece.key), piece))
    return tuple(found)


def _text(text: str) -> Iterator[Piece]:
    """Yield a piece of text, unless it is empty."""
    if text:
        yield Piece("text", text)
