"""Markdown: paragraphs, headings and cells are segments, also the alternative texts of images; all else stays as it is."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.commonmark import Block, Grammar, Mark
from dragoman.documents.inline import Inline, Piece, gather
from dragoman.documents.segments import Segment

JOINER = "&NoBreak;"
"""What is put between markup and text that would make it something else: a sign that is not seen, and breaks no word."""

_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?![ \t]*\r?\n)(?:.*?\n)??(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|#]")
_LINE_START = re.compile(
    r"^(?:(?=[-+*](?:[ \t]|$)|:(?:::|[ \t])|#{1,6}(?:[ \t]|$)|>|~~~|[-=|:][-=|: \t]*$)|(\d{1,9})(?=[.)](?:[ \t]|$)))",
    re.MULTILINE,
)
_AROUND = {
    "paragraph": ("", ""),
    "heading": ("# ", ""),
    "underlined": ("", "\n---"),
    "cell": ("|", "|\n|-|"),
    "first cell": ("", "|\n|-|"),
    "image": ("![", "](x)"),
}
"""What makes a document of a text of each kind; the first cell of a row may have nothing before it."""

Patch = tuple[int, int, str]
"""A part of the content of a block, and what is to stand there."""


@dataclass(frozen=True)
class _Place:
    """A segment: the content of a block from `start` to `end`, which is all of it or the alternative text of an image."""

    inline: Inline
    number: int
    start: int
    end: int
    is_image: bool = False
    after: str = ""
    """What follows the translation: the name of an image that was named by its alternative text."""


class MarkdownDocument:
    """A Markdown file. A translation is written as plainly as it is read alike: what would be markup is escaped."""

    def __init__(self, text: str) -> None:
        self._text = text
        front = _FRONT.match(text)
        self._begin = front.end() if front else 0
        ends = list(_LINE_END.finditer(text, self._begin))
        self._end_of_line = ends[0][0] if ends else "\n"
        self._starts = [self._begin, *(end.end() for end in ends)]
        plain = _LINE_END.sub("\n", text[self._begin :])
        self._plain_starts = [0, *(end.end() for end in _LINE_END.finditer(plain))]
        self._grammar = Grammar()
        self._blocks = self._grammar.document(plain)
        self._places: list[_Place] = []
        for number, block in enumerate(self._blocks):
            self._add(number, self._grammar.marks(block.content))
        self.segments: Sequence[Segment] = [place.inline.segment for place in self._places]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the document with translated segments."""
        patches: dict[int, list[Patch]] = {}
        for place, translated in zip(self._places, translations, strict=True):
            own = patches.setdefault(place.number, [])
            new = None if translated is None else self._written(place, translated, own)
            if new is not None:
                while own and place.start <= own[-1][0]:  # the alternative texts of images inside
                    own.pop()
                own.append((place.start, place.end, new + place.after))
        out, done = [], 0
        for number, some in patches.items():
            block = self._blocks[number]
            between = self._between(block)
            for start, end, new in sorted(some):
                out += [self._text[done : self._original(block.place(start))], new.replace("\n", between)]
                done = self._original(block.place(end))
        return "".join([*out, self._text[done:]])

    def _add(self, number: int, marks: Sequence[Mark], image: Mark | None = None) -> None:
        """Add the segments of a block, or of the alternative text of an image: those of the images in it, and its own."""
        content = self._blocks[number].content
        for mark in marks:
            if mark.inside:
                self._add(number, mark.inside, mark)
        if not any(mark.kind == "text" and mark.text.strip() for mark in marks):
            return
        if image is None or image.label is None:
            self._places.append(_Place(_inline(marks), number, 0, len(content)))
            return
        after = _reference(image, content)
        end = image.end if after else image.label[1]
        self._places.append(_Place(_inline(marks), number, image.label[0], end, is_image=True, after=after))

    def _original(self, place: int) -> int:
        """Return where a character is in the file, which may have other line ends."""
        line = bisect_right(self._plain_starts, place) - 1
        return self._starts[line] + place - self._plain_starts[line]

    def _between(self, block: Block) -> str:
        """Return what a line end in a block is written as: with what its second line begins with, such as the sign of a quote."""
        if len(block.starts) == 1:
            return " "
        second = self._original(block.starts[1])
        return self._end_of_line + self._text[self._starts[bisect_right(self._starts, second) - 1] : second]

    def _written(self, place: _Place, translated: Segment, patches: Sequence[Patch]) -> str | None:
        """Return a translation with its markup; None if it cannot be written, as one without text cannot."""
        block = self._blocks[place.number]
        kind = "image" if place.is_image else self._kind(block)
        several = kind in ("paragraph", "underlined") and len(block.starts) > 1
        written = [_piece(one, block.content, patches, several=several) for one in place.inline.events(translated)]
        pieces = list(_with_spaces(written))
        joined = list(_with_joiners(pieces))
        wanted = _signature((piece.kind, piece.what) for piece in pieces)
        for chosen, escapes in ((pieces, False), (pieces, True), (joined, False), (joined, True)):
            new = "".join(_escaped(piece) if escapes else piece.what for piece in chosen).strip(" \t\n")
            if kind in ("paragraph", "underlined", "first cell"):
                new = _LINE_START.sub(lambda found: f"{found[1] or ''}\\", new)
            if block.kind == "cell":
                new = re.sub(r"\\\\?$", "&bsol;", re.sub(r"(?<!\\)\|", r"\\|", new))
            elif block.kind == "underlined":
                new = new.replace("\\|", "&vert;")
            if new and self._reads(new, kind) == wanted:
                return new
        return None

    def _kind(self, block: Block) -> str:
        """Return the kind of a block, and of cells which is the first of its row and has nothing before it."""
        before = self._original(block.starts[0]) - 1
        while before >= 0 and self._text[before] in " \t":
            before -= 1
        return "first cell" if block.kind == "cell" and self._text[before : before + 1] != "|" else block.kind

    def _reads(self, new: str, kind: str) -> list[str] | None:
        """Return what a reader sees in a text of a kind; None if he takes it for something else."""
        before, after = _AROUND[kind]
        whole = f"{before}{new}{after}"
        if kind == "image":
            marks = self._grammar.marks(whole)
            if len(marks) != 1 or marks[0].label != (2, 2 + len(new)):
                return None
            marks = list(marks[0].inside)
        else:
            blocks = self._grammar.blocks(whole)
            if [(one.kind, one.content) for one in blocks] != [(kind.removeprefix("first "), new)]:
                return None
            marks, whole = self._grammar.marks(new), new
        inline = _inline(marks)
        events = inline.events(inline.segment)
        return _signature((one.kind, one.what if one.kind == "text" else _raw(one.what, whole, ())) for one in events)


def _inline(marks: Iterable[Mark]) -> Inline:
    """Return marks as text and elements."""
    return gather(
        [Piece("text", mark.text) if mark.kind == "text" else Piece(mark.kind, mark, mark.key) for mark in marks]
    )


def _piece(piece: Piece, content: str, patches: Sequence[Patch], *, several: bool) -> Piece:
    """Return a piece as it is written, on one line or on several."""
    if piece.kind == "text":
        return Piece("text", re.sub(r"[ \t\r\n]*\n[ \t\r\n]*", "\n" if several else " ", piece.what))
    raw = _raw(piece.what, content, patches)
    return Piece(piece.kind, raw if several else raw.replace("\n", " "))


def _raw(mark: Mark, content: str, patches: Sequence[Patch]) -> str:
    """Return markup as it is written. A link that was named by its text gets that name, for the text changes."""
    if mark.kind == "close" and (named := _reference(mark, content)):
        return named
    raw, done = [], mark.start
    for number in range(bisect_left(patches, (mark.start,)), bisect_right(patches, mark.end, key=lambda one: one[0])):
        start, end, new = patches[number]
        if end <= mark.end:
            raw += [content[done:start], new]
            done = end
    return "".join([*raw, content[done : mark.end]])


def _reference(mark: Mark, content: str) -> str:
    """Return what is written after the text of a link or image that is named by its text, with the name; else nothing."""
    if mark.label is None or content[mark.label[1] : mark.end] not in ("]", "][]"):
        return ""
    return f"][{content[slice(*mark.label)]}]"


def _signature(pieces: Iterable[tuple[str, str]]) -> list[str]:
    """Return what pieces say, apart from white space: texts, and markup between them."""
    found = [""]
    for kind, what in pieces:
        shown = re.sub(r"[\s\u2060]", "", what)
        if kind == "text":
            found[-1] += shown
        else:
            found += [shown, ""]
    return found


def _with_spaces(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces with a space between pieces of code that would become one."""
    last = ""
    for piece in pieces:
        if last == "`" and piece.what.startswith("`"):
            yield Piece("text", " ")
        yield piece
        last = piece.what[-1:] if piece.kind == "alone" else ""


def _with_joiners(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield pieces with joiners: beside emphasis, before a tag that begins a line of HTML, and beside line breaks at the ends."""
    nothing = Piece("text", "")
    for before, piece in zip([nothing, *pieces], [*pieces, nothing], strict=True):
        emphasis = any(one.kind in ("open", "close") and one.what[0] in "*_~" for one in (before, piece))
        begins = before is nothing and piece.kind != "text"
        if emphasis or begins or (piece is nothing and before.kind == "break"):
            yield Piece("alone", JOINER)
        yield piece


def _escaped(piece: Piece) -> str:
    """Return a piece with a backslash before all of its text that may be markup."""
    return _SPECIAL.sub(r"\\\g<0>", piece.what) if piece.kind == "text" else piece.what
