"""Text with tags, translated: the text without tags is translated, and the tags come to the translated words they were around.

Every tag comes out as often as it went in, byte for byte, and nested as it was (`documents.projection` sees to that).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dragoman.documents.alignment import Alignment, Range, align, join
from dragoman.documents.containment import Span
from dragoman.documents.counterparts import places_of
from dragoman.documents.hypertext import begins_another, says_no
from dragoman.documents.markup import escaped
from dragoman.documents.placeholders import placeholders
from dragoman.documents.projection import project
from dragoman.serving.formatting import has_words
from dragoman.serving.interface import Answer
from dragoman.serving.tags import Piece, cut, decoded, tags_of


def _words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


INLINE = _words(
    """a abbr acronym b bdi bdo big br button cite code data del dfn em font i img input ins kbd label map mark math nobr
    object output q ruby rb rp rt s samp select small span strike strong sub sup svg time tt u var wbr"""
)
"""Elements of HTML within sentences; any other begins and ends one."""

UNTRANSLATED = _words("code kbd samp var script style textarea math svg")
"""Elements of HTML whose text stays as it is."""

PREFORMATTED = _words("pre listing")
"""Elements of HTML whose white space stays as it is."""

_SPACE = re.compile(r"[ \t\r\n\f]+")
_LINES = re.compile(r"[ \t]*(?:\r?\n[ \t]*)+")


@dataclass(frozen=True)
class TagRules:
    """What the tags of a text mean."""

    is_html: bool = False
    ignored: frozenset[str] = frozenset()
    """Elements whose text stays as it is, beside those of HTML."""
    splitting: frozenset[str] = frozenset()
    """Elements that begin and end a sentence."""
    within: frozenset[str] = frozenset()
    """Elements that never do."""
    outline: bool = True
    """In XML, take elements for such that split where their parent has no text of its own."""
    joins_lines: bool = False
    """A line break is a space; so it always is in HTML."""


@dataclass(frozen=True)
class Element:
    """Tags in a block, and what is written instead of the translation of what is between them."""

    before: str
    after: str = ""
    kept: str | None = None


@dataclass(frozen=True)
class Block:
    """Text that is translated as a whole, and the elements in it."""

    text: str
    spans: tuple[Span, ...] = ()
    elements: tuple[Element, ...] = ()

    def written(self, alignment: Alignment) -> "Written":
        """Return the translation with the elements in it."""
        fixed = places_of(alignment, self.spans) | self._fixed(alignment.target)
        projection = project(alignment, self.spans, fixed)
        children: dict[int | None, list[int]] = {}
        for number, span in enumerate(projection.spans):
            children.setdefault(span.parent, []).append(number)

        def write(parent: int | None, start: int, end: int) -> str:
            parts, last = [], start
            for child in sorted(children.get(parent, []), key=lambda one: (projection.spans[one].start, one)):
                span, element = projection.spans[child], self.elements[child]
                inner = write(child, span.start, span.end) if element.kept is None else element.kept
                before, after = self._spaces(child, span, projection.text)
                parts += [
                    escaped(projection.text[last : span.start]),
                    before,
                    element.before,
                    inner,
                    element.after,
                    after,
                ]
                last = span.end
            return "".join([*parts, escaped(projection.text[last:end])])

        return Written(write(None, 0, len(projection.text)), projection.mended)

    def _spaces(self, number: int, placed: Span, target: str) -> tuple[str, str]:
        """Return what is to stand around a tag alone, or what stays as it is, that has spaces in the source and lacks them here.

        Within a translation, the projection has seen to tags alone.
        """
        own, again = self.spans[number], self.elements[number].kept is not None and placed.start == placed.end
        apart = self.text[own.start - 1 : own.start].isspace() and self.text[own.end : own.end + 1].isspace()
        if not (placed.alone or again) or not apart or not target:
            return "", ""
        before = again or placed.start == len(target), target[placed.start - 1 : placed.start]
        after = again or placed.start == 0, target[placed.start : placed.start + 1]
        left, right = (needed and beside != "" and not beside.isspace() for needed, beside in (before, after))
        return " " * left, " " * right

    def _fixed(self, target: str) -> dict[int, Range]:
        """Return where the model left what stays as it is, if that is certain."""
        found: dict[int, Range] = {}
        for number, (span, element) in enumerate(zip(self.spans, self.elements, strict=True)):
            own = self.text[span.start : span.end].strip()
            if element.kept is None or span.parent is not None or (self.text.count(own), target.count(own)) != (1, 1):
                continue
            start, end = target.index(own), target.index(own) + len(own)
            if target[start - 1 : start].isalnum() and own[:1].isalnum():
                continue  # in another word
            if target[end : end + 1].isalnum() and own[-1:].isalnum():
                continue
            if not any(start < b and a < end for a, b in found.values()):
                found[number] = (start, end)
        return found


@dataclass(frozen=True)
class Written:
    """A translation with its tags."""

    text: str
    mended: int
    """Number of elements that could not be placed by the alignment alone."""


@dataclass(frozen=True)
class Marked:
    """Text with tags, cut into blocks and what stays as it is."""

    markup: str
    rules: TagRules
    parts: tuple[str | Block, ...] = field(repr=False)

    @cached_property
    def texts(self) -> list[str]:
        """The texts to translate."""
        return [part.text for part in self.parts if isinstance(part, Block)]

    def written(self, alignments: Sequence[Alignment]) -> Written:
        """Return the whole with the translations of `texts`.

        Should a tag be missing or doubled after all, the text of that block stays as it was, and counts as mended.
        """
        left = iter(alignments)
        parts, mended = [], 0
        for part in self.parts:
            if isinstance(part, Block):
                new = part.written(next(left))
                parts.append(new.text)
                mended += new.mended
            else:
                parts.append(part)
        text = "".join(parts)
        same = Counter(tags_of(text, is_html=self.rules.is_html)) == Counter(
            tags_of(self.markup, is_html=self.rules.is_html)
        )
        return Written(text, mended) if same else Written(self.markup, mended + 1)


def read_markup(markup: str, rules: TagRules) -> Marked:
    """Cut text with tags into blocks.

    >>> read_markup("<p>One <b>two</b></p><p>three</p>", TagRules(is_html=True)).texts
    ['One two', 'three']
    """
    return Marked(markup, rules, tuple(_Reader(cut(markup, is_html=rules.is_html), rules).parts()))


def alignment_of(text: str, answer: Answer) -> Alignment:
    """Return the alignment of a text and its translation, by position where the words of a sentence have no links."""
    parts, gaps, done, written = [], [], 0, 0
    for one in answer.sentences:
        gap = text[done : one.source_start]
        done, after = one.source_start + len(one.source), one.start + len(one.text)
        if text[one.source_start : done] != one.source or answer.text[written : one.start] != gap:
            return align(text, answer.text)
        if answer.text[one.start : after] != one.text:
            return align(text, answer.text)
        gaps.append(gap)
        written = after
        parts.append(align(one.source, one.text, one.alignment or None))
    if not parts or text[done:] != answer.text[written:]:
        return align(text, answer.text)
    return join(parts, [*gaps, text[done:]])


class _Reader:
    """Reads the pieces of a text with tags."""

    def __init__(self, pieces: Sequence[Piece], rules: TagRules) -> None:
        self.pieces, self.rules = pieces, rules
        self.parents = self._parents()
        self.speaking = {
            self.parents[number] for number, piece in enumerate(pieces) if piece.kind == "text" and piece.raw.strip()
        }
        """Elements with text of their own; None is the whole."""

    def parts(self) -> list[str | Block]:
        """Return blocks, and what is between them."""
        found: list[str | Block] = []
        waiting: list[int] = []
        number = 0
        while number < len(self.pieces):
            piece = self.pieces[number]
            end = piece.partner if self.is_kept(piece) and piece.partner is not None else number
            if self._begins_another(number):
                found += self._block(waiting)
                waiting = []
            if piece.kind != "text" and self._splits(number):
                found += self._block(waiting)
                found.append(self.raw(number, end + 1))
                waiting = []
            else:
                waiting.append(number)
            number = end + 1
        return [*found, *self._block(waiting)]

    def _parents(self) -> list[int | None]:
        """Return, for each piece, the piece that opens the element around it."""
        parents: list[int | None] = []
        around: list[int] = []
        for number, piece in enumerate(self.pieces):
            if piece.kind == "close" and piece.partner is not None:
                around.pop()
            parents.append(around[-1] if around else None)
            if piece.kind == "open" and piece.partner is not None:
                around.append(number)
        return parents

    def is_preformatted(self, number: int) -> bool:
        """Tell whether a piece is in an element whose white space stays as it is."""
        around = self.parents[number]
        while around is not None and self.pieces[around].name not in PREFORMATTED:
            around = self.parents[around]
        return around is not None

    def is_kept(self, piece: Piece) -> bool:
        """Tell whether a piece opens an element whose text stays as it is."""
        if piece.kind != "open":
            return False
        own = self.rules.is_html and (piece.name in UNTRANSLATED or says_no(piece.raw))
        return own or piece.name in self.rules.ignored

    def _splits(self, number: int) -> bool:
        """Tell whether a tag is between sentences."""
        piece, rules = self.pieces[number], self.rules
        if piece.name in rules.splitting:
            return True
        if piece.name in ("<!", "<?"):
            return not piece.raw.startswith(("<!--", "<![CDATA["))
        if piece.name in rules.within:
            return False
        if rules.is_html:
            return piece.name not in INLINE or (piece.name == "br" and self._ends_line(number))
        paired = piece.kind == "alone" or piece.partner is not None
        return rules.outline and paired and self.parents[number] not in self.speaking

    def _ends_line(self, number: int) -> bool:
        """Tell whether a line break ends a sentence: not within one, before a space and a small letter."""
        before, after = (self._text(beside) for beside in (number - 1, number + 1))
        return not after.lstrip()[:1].islower() or not (before[-1:].isspace() or after[:1].isspace())

    def _begins_another(self, number: int) -> bool:
        """Tell whether a tag of HTML begins a link or the like directly after another one."""
        before, piece = self.pieces[number - 1], self.pieces[number]
        if not self.rules.is_html or (before.kind, piece.kind) != ("close", "open") or piece.name in self.rules.within:
            return False
        return begins_another(before.name, piece.name, self._text(number + 1))

    def _text(self, number: int) -> str:
        """Return a piece if it is text, and nothing otherwise."""
        inside = 0 <= number < len(self.pieces) and self.pieces[number].kind == "text"
        return self.pieces[number].raw if inside else ""

    def raw(self, start: int, end: int) -> str:
        """Return some pieces as they were."""
        return "".join(piece.raw for piece in self.pieces[start:end])

    def _block(self, numbers: Sequence[int]) -> list[str | Block]:
        """Return a block of pieces, with the white space before and after it, which stays as it is."""
        if not numbers:
            return []
        last = self.pieces[numbers[-1]]
        end = last.partner if self.is_kept(last) and last.partner is not None else numbers[-1]
        texts = [self.pieces[number].raw for number in numbers if self.pieces[number].kind == "text"]
        if not has_words(decoded("".join(texts))):
            return [self.raw(numbers[0], end + 1)]
        block, (before, after) = _BlockMaker(self, numbers).made()
        return [before, block, after]


def _says_something(text: str) -> bool:
    """Tell whether there is more than white space and signs, such as the star of an icon, of which a model makes nothing.

    >>> _says_something("★ →"), _says_something("!")
    (False, True)
    """
    return len("".join(text.split())) > sum(len(one.text) for one in placeholders(text) if one.is_sign)


class _BlockMaker:
    """Makes one block of pieces."""

    def __init__(self, reader: _Reader, numbers: Sequence[int]) -> None:
        self.reader, self.numbers = reader, numbers
        self.text = ""
        self.spans: list[Span] = []
        self.elements: list[Element] = []
        self.is_preformatted = reader.is_preformatted(numbers[0])

    def made(self) -> tuple[Block, tuple[str, str]]:
        """Return the block, and the white space before and after it."""
        pieces, inside = self.reader.pieces, set(self.numbers)
        around = self._around()
        open_: list[int] = []
        skipped = -1
        for number in self.numbers:
            piece = pieces[number]
            partner = piece.partner if piece.kind == "open" else None
            if number <= skipped:
                continue
            if piece.kind == "text":
                self._say(self._trimmed(number, around))
            elif partner is not None and (self.reader.is_kept(piece) or partner in inside):
                said = self._said(number, partner)
                if not _says_something(said):
                    self._add(Element(self.reader.raw(number, partner + 1)), open_, alone=True)
                    skipped = partner
                elif self.reader.is_kept(piece):
                    kept = self.reader.raw(number + 1, partner)
                    self._add(Element(piece.raw, pieces[partner].raw, kept), open_, length=len(said))
                    self.text += said
                    skipped = partner
                else:
                    self._add(Element(piece.raw, pieces[partner].raw), open_)
                    open_.append(len(self.spans) - 1)
            elif piece.kind == "close" and piece.partner in inside:
                last = open_.pop()
                self.spans[last] = replace(self.spans[last], end=len(self.text))
            else:
                self._add(Element(piece.raw), open_, alone=True)
        return Block(self.text, tuple(self.spans), tuple(self.elements)), around

    def _around(self) -> tuple[str, str]:
        """Return the white space before and after the text, if text is what begins and ends the block."""
        first, last = (self.reader.pieces[number] for number in (self.numbers[0], self.numbers[-1]))
        before = first.raw[: len(first.raw) - len(first.raw.lstrip())] if first.kind == "text" else ""
        after = last.raw[len(last.raw.rstrip()) :] if last.kind == "text" else ""
        return before, after

    def _trimmed(self, number: int, around: tuple[str, str]) -> str:
        """Return text without the white space around the block."""
        raw = self.reader.pieces[number].raw
        raw = raw[len(around[0]) :] if number == self.numbers[0] else raw
        return raw[: len(raw) - len(around[1])] if number == self.numbers[-1] else raw

    def _said(self, start: int, end: int) -> str:
        """Return the text between two pieces."""
        return "".join(self._plain(piece.raw) for piece in self.reader.pieces[start:end] if piece.kind == "text")

    def _say(self, raw: str) -> None:
        """Add text."""
        self.text += self._plain(raw)

    def _plain(self, raw: str) -> str:
        """Return text as the model reads it."""
        text = decoded(raw)
        if self.reader.rules.is_html:
            return text if self.is_preformatted else _SPACE.sub(" ", text)
        return _LINES.sub(" ", text) if self.reader.rules.joins_lines else text

    def _add(self, element: Element, open_: Sequence[int], *, alone: bool = False, length: int = 0) -> None:
        """Add an element at the end of the text so far."""
        here = len(self.text)
        self.spans.append(Span(here, here + length, open_[-1] if open_ else None, alone))
        self.elements.append(element)
