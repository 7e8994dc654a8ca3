"""Messages of ICU with plurals and choices: what is said in each case is a segment, and so is what is said around them.

Of `You have {n, plural, one {# file} other {# files}}` the model reads `You have {#1}`, `{#} file` and `{#} files`, where what is
in braces are placeholders (`documents.placeholders`); keywords and braces are never translated.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.alignment import Range
from dragoman.documents.containment import Span
from dragoman.documents.projection import nests
from dragoman.documents.segments import Document, Segment

DEEPEST = 20
"""Number of messages inside one another beyond which a text is not read as a message."""

_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(plural|selectordinal|select)\s*,\s*(?:offset:\s*\d+\s*)?")
_CASE = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_END = re.compile(r"\s*\}")
_KEPT = re.compile(r"\{[^{}]*\}|'[{}#][^']*'")
"""Arguments, and signs in quotation marks."""


@dataclass(frozen=True)
class _Part:
    """A text of a message."""

    start: int
    end: int
    signs: tuple[tuple[int, int, str], ...]
    """Where something else stands in its segment, and what: of a choice, its number."""
    choices: tuple[tuple[int, ...], ...]
    """Its choices: where each begins, the numbers of the parts that are its cases, and where it ends."""
    counts: bool
    """Whether `#` stands for a number in it."""

    def places(self) -> dict[int, int]:
        """Return where in its segment the places of its own text are."""
        found: dict[int, int] = {}
        done, moved = self.start, 0
        for start, end, sign in (*self.signs, (self.end, self.end, "")):
            found |= {place: place - done + moved for place in range(done, start + 1)}
            done, moved = end, found[start] + len(sign)
        return found


class _Reader:
    """Reads the parts of a message, each before those in it. ValueError for a text that is no message."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[_Part] = []
        self.part(0, depth=0, counts=False)

    def part(self, start: int, *, depth: int, counts: bool) -> int:
        """Read a part, and return where it ends."""
        if depth > DEEPEST:
            raise ValueError("too deep")
        number, place = len(self.parts), start
        self.parts.append(_Part(start, start, (), (), counts))
        signs: list[tuple[int, int, str]] = []
        choices: list[tuple[int, ...]] = []
        while place < len(self.text) and not (depth and self.text[place] == "}"):
            end = place + 1
            if choice := _CHOICE.match(self.text, place):
                choices.append(self.choice(choice, depth=depth))
                end = choices[-1][-1]
                signs.append((place, end, f"{{#{len(choices)}}}"))
            elif self.text.startswith("''", place):
                end = place + 2
                signs.append((place, end, "'"))
            elif (kept := _KEPT.match(self.text, place)) and not self.text.startswith("{#", place):
                end = kept.end()
            elif self.text[place] in "{}":
                raise ValueError("a single brace, or what stands for a part")
            elif self.text[place] == "#" and counts:
                signs.append((place, end, "{#}"))
            place = end
        self.parts[number] = _Part(start, place, tuple(signs), tuple(choices), counts)
        return place

    def choice(self, found: re.Match[str], *, depth: int) -> tuple[int, ...]:
        """Read a choice."""
        place, parts = found.end(), []
        while case := _CASE.match(self.text, place):
            parts.append(len(self.parts))
            place = self.part(case.end(), depth=depth + 1, counts=found[1] != "select") + 1
        end = _END.match(self.text, place)
        if end is None or not parts:
            raise ValueError("no end, or no case")
        return (found.start(), *parts, end.end())


class Message:
    """A segment that is a message, and `segments` for its parts; none if it has elements around more than what a part says."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.parts = _Reader(segment.text).parts
        self.owned: list[list[int]] = [[] for _ in self.parts]
        self.doubles = any(sign == "'" for part in self.parts for _, _, sign in part.signs)
        places = [part.places() for part in self.parts]
        for number, span in enumerate(segment.spans):
            for owned, some in zip(self.owned, places, strict=True):
                if span.start in some and span.end in some:
                    owned.append(number)
        inside = {own for owned in self.owned for own in owned}
        self.between = [number for number in range(len(segment.spans)) if number not in inside]
        """Elements between the parts, such as line breaks."""
        is_whole = all(segment.spans[number].alone for number in self.between)
        self.segments = [self._segment(*pair) for pair in enumerate(places)] if is_whole else []

    def joined(self, translations: Sequence[Segment | None]) -> Segment | None:
        """Return the message with translations of its parts; None if there are none, or elements would not be nested any more."""
        if not any(translations):
            return None
        text, places = self._written(0, translations)
        spans = tuple(replace(span, start=places[n][0], end=places[n][1]) for n, span in enumerate(self.segment.spans))
        return replace(self.segment, text=text, spans=spans, breaks=()) if nests(spans, len(text)) else None

    def _segment(self, number: int, places: Mapping[int, int]) -> Segment:
        """Return the segment of a part."""
        part, text, done = self.parts[number], "", self.parts[number].start
        for start, end, sign in part.signs:
            text += self.segment.text[done:start] + sign
            done = end
        own = self.owned[number]
        spans = [self.segment.spans[one] for one in own]
        moved = (
            Span(places[one.start], places[one.end], own.index(one.parent) if one.parent in own else None, one.alone)
            for one in spans
        )
        breaks = tuple(places[one] for one in self.segment.breaks if one in places)
        text += self.segment.text[done : part.end]
        return Segment(text, tuple(moved), breaks, beside=self.segment.beside)

    def _written(self, number: int, translations: Sequence[Segment | None]) -> tuple[str, dict[int, Range]]:
        """Return a part as it is written, and where its elements and those of parts in it are."""
        source, translated = self.segments[number], translations[number] or self.segments[number]
        kept = set(_KEPT.findall(source.text))
        text = translated.text
        places = {own: (span.start, span.end) for own, span in zip(self.owned[number], translated.spans, strict=True)}
        signs = "|".join([*map(re.escape, sorted(one for one in kept if one[0] == "'")), r"\{[^{}]*\}", "[{}#']"])
        for sign in reversed([*re.finditer(signs, text)]):
            new, inside = self._sign(number, sign, kept, translations=translations)
            start, end, growth = sign.start(), sign.end(), len(new) - len(sign[0])
            places = {
                own: (_moved(a, start, end, growth=growth), _moved(b, start, end, growth=growth))
                for own, (a, b) in places.items()
            }
            places |= {own: (start + a, start + b) for own, (a, b) in inside.items()}
            text = text[:start] + new + text[end:]
        return text, places

    def _sign(
        self, number: int, sign: re.Match[str], kept: set[str], *, translations: Sequence[Segment | None]
    ) -> tuple[str, dict[int, Range]]:
        """Return what is written for a sign that a segment has, with elements in it."""
        part, own = self.parts[number], sign[0]
        if own == "{#}" and part.counts:
            return "#", {}
        if own in kept and re.fullmatch(r"\{#\d+\}", own):
            return self._choice(part.choices[int(own[2:-1]) - 1], translations)
        if own in kept:
            return own, {}
        if own == "#":
            return ("'#'" if part.counts else own), {}
        if own == "'":
            following = sign.string[sign.end() :][:1] or ("}" if number else " ")  # a case ends with a brace
            return ("''" if self.doubles or following in "{}#" else own), {}
        return re.sub("[{}]", "", own), {}

    def _choice(self, choice: tuple[int, ...], translations: Sequence[Segment | None]) -> tuple[str, dict[int, Range]]:
        """Return a choice with its cases."""
        done, *numbers, end = choice
        text, places = "", dict[int, Range]()
        for number in [*numbers, None]:
            start = end if number is None else self.parts[number].start
            for own in self.between:
                if done < (place := self.segment.spans[own].start) < start:
                    places[own] = (len(text) + place - done, len(text) + place - done)
            text += self.segment.text[done:start]
            if number is not None:
                said, inside = self._written(number, translations)
                places |= {own: (a + len(text), b + len(text)) for own, (a, b) in inside.items()}
                text, done = text + said, self.parts[number].end
        return text, places


class DocumentOfMessages:
    """A document in which some segments are messages."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._messages = [_message(segment) for segment in document.segments]
        self.segments: Sequence[Segment] = [
            one
            for segment, message in zip(document.segments, self._messages, strict=True)
            for one in ([segment] if message is None else message.segments)
        ]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the document with translated segments."""
        left, whole = iter(translations), []
        for message in self._messages:
            if message is None:
                whole.append(next(left))
            else:
                whole.append(message.joined([next(left) for _ in message.segments]))
        return self._document.written(whole)


def with_messages(document: Document) -> Document:
    """Return a document whose segments are the parts of messages, where it has any."""
    return DocumentOfMessages(document) if any(_CHOICE.search(one.text) for one in document.segments) else document


def _message(segment: Segment) -> Message | None:
    """Read a segment; None if it is no message."""
    if segment.cuts or not _CHOICE.search(segment.text):
        return None
    try:
        return Message(segment)
    except ValueError:
        return None


def _moved(place: int, start: int, end: int, *, growth: int) -> int:
    """Return a place in a text of which the part from `start` to `end` has grown."""
    return place + growth if place >= end else min(place, start)
