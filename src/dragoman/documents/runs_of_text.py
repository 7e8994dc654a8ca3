"""Paragraphs of Word and PowerPoint, and cells of Excel, whose text is cut into runs: those of equal form are read as one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman.documents.elements import Raw, mark_of_range
from dragoman.documents.inline import Inline, Piece, gather
from dragoman.documents.markup import Element, Token, decoded, escaped
from dragoman.documents.segments import Segment

_WRAPPERS = frozenset(["hyperlink", "ins", "smartTag", "customXml", "fldSimple", "moveTo", "sdt", "bdo", "dir"])
_BREAKS = frozenset(["br", "cr", "tab"])
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak", "rPh", "phoneticPr"])
"""What a translation does not have: remarks of the program, and how the words of a cell are read aloud."""
_HYPHENS = {"noBreakHyphen": "-", "softHyphen": ""}
"""Elements inside a word: a hyphen at which no line ends, and a place where one may end, which is another in the translation."""
_BLANK = re.compile(r"(\s{3,})")
"""Spaces that leave room for something, as in a form."""
_LINE = re.compile(r"((?:_x000D_)?\n)")
"""The end of a line in a cell."""
_UNSEEN = re.compile(r"""<w:lang\b[^<>]*/>|\s(?:lang|altLang|dirty|err|smtClean)=(?:"[^"]*"|'[^']*')(?=[^<>]*>)""")
"""What the spelling checker notes of a run: in which language it looked, and what it found there."""
_NOTHING = re.compile(r"<(?:w|a):rPr\s*(?:/>|>\s*</(?:w|a):rPr>)")


@dataclass
class _Field:
    """A field that was begun: what belongs to its code, and how many fields are open in it."""

    parts: list[Element | Token | str] = field(default_factory=list)
    depth: int = 1


@dataclass(frozen=True)
class RunParagraph:
    """A paragraph `w:p` or `a:p`, or a cell's text `si`; `base` is the form of most of its text."""

    element: Element
    inline: Inline
    head: tuple[Element, ...]
    base: str
    prefix: str

    def replace(self, translated: Segment) -> None:
        """Put a translation in the place of the content."""
        forms, out = [self.base], ["".join(one.raw() for one in self.head)]
        for piece in self.inline.events(translated):
            if piece.kind == "text":
                out.append(_run_of(self.prefix, forms[-1], piece.what))
            elif isinstance(piece.what, str):
                forms = [*forms, piece.what] if piece.kind == "open" else forms[:-1]
            else:
                out.append(str(piece.what))
        content = "".join(out)
        self.element.children = [Token("text", _simplest(self.prefix, content) if _is_cell(self.prefix) else content)]


def run_paragraph(element: Element) -> RunParagraph:
    """Return a paragraph with its runs joined."""
    prefix = "".join(element.name.rpartition(":")[:2])
    head = tuple(one for one in element.children if isinstance(one, Element) and one.name == f"{prefix}pPr")
    pieces = _joined(list(_fields(_Reader(prefix).pieces(element), prefix)))
    base = _base(pieces)
    shown: list[Piece] = []
    ends: list[bool] = []
    for piece in pieces:
        if _is_form(piece):
            if piece.kind == "open":
                ends.append(piece.what != base or len(ends) > 0)
            elif not ends.pop():
                continue
            if piece.kind == "open" and not ends[-1]:
                continue
        shown.append(piece)
    return RunParagraph(element, gather(shown), head, base, prefix)


class _Reader:
    """Reads the content of a paragraph as pieces; of a form, the two pieces are its properties, as a string."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def pieces(self, element: Element) -> Iterator[Piece]:
        """Yield the pieces of everything in an element."""
        waiting: list[Element | Token | Piece] = list(reversed(element.children))
        while waiting:
            one = waiting.pop()
            if isinstance(one, Piece):
                yield one
                continue
            if isinstance(one, Token):
                continue
            name = one.name.removeprefix(self._prefix)
            if name == "r":
                yield from self._run(one)
            elif name == "t":
                yield from self._said(_text_of(one), "")
            elif name in _WRAPPERS and one.closing:
                inside = one.child(f"{self._prefix}sdtContent") if name == "sdt" else one
                if inside is None:
                    yield Piece("alone", Raw((one,)))
                    continue
                before = one.children[: one.children.index(inside)] if inside is not one else []
                opening = (one.opening, *before, *([inside.opening] if before else []))
                closing = (*([inside.closing] if before else []), one.closing)
                yield Piece("open", Raw(opening), id(one))
                waiting.append(Piece("close", Raw(closing), id(one)))
                waiting += reversed(inside.children)
            elif name not in _DROPPED and name != "pPr":
                yield mark_of_range(one) or Piece("break" if name in _BREAKS else "alone", Raw((one,)))

    def _run(self, run: Element) -> Iterator[Piece]:
        """Yield the pieces of a run, within its form."""
        properties = run.child(f"{self._prefix}rPr")
        form = "" if properties is None else _UNSEEN.sub("", properties.raw())
        form = "" if _NOTHING.fullmatch(form) else form
        yield Piece("open", form, form)
        for one in run.children:
            if isinstance(one, Token) or one is properties:
                continue
            name = one.name.removeprefix(self._prefix)
            if name == "t":
                yield from self._said(_text_of(one), form)
            elif name in _HYPHENS:
                yield Piece("text", _HYPHENS[name])
            elif name not in _DROPPED:
                whole = Raw((f"<{run.name}>{form}", one, f"</{run.name}>"))
                if name == "fldChar":  # a field may end in another form, so it is not within one
                    yield Piece("close", form, form)
                    yield Piece("alone", whole, one.attribute(f"{self._prefix}fldCharType"))
                    yield Piece("open", form, form)
                else:
                    yield Piece("break" if name in _BREAKS else "alone", whole)
        yield Piece("close", form, form)

    def _said(self, text: str, form: str) -> Iterator[Piece]:
        """Yield text; of the spaces of a blank, which is to be filled in, all but the first are an element."""
        if _is_cell(self._prefix):
            yield from self._lines(text, form)
            return
        for number, part in enumerate(_BLANK.split(text)):
            yield Piece("text", part[0] if number % 2 else part)
            if number % 2:
                yield Piece("alone", Raw((_run_of(self._prefix, form, part[1:]),)))

    def _lines(self, text: str, form: str) -> Iterator[Piece]:
        """Yield the lines of a cell, and where they end."""
        for number, part in enumerate(_LINE.split(text)):
            yield Piece("break", Raw((_run_of(self._prefix, form, part),))) if number % 2 else Piece("text", part)


def _is_cell(prefix: str) -> bool:
    """Tell by the prefix of an element whether it is of Excel's cells, not of Word or of drawings."""
    return prefix not in ("w:", "a:")


def _text_of(element: Element) -> str:
    """Return the text of an element `t`."""
    return "".join(decoded(part.raw) for part in element.children if isinstance(part, Token) and part.kind == "text")


def _simplest(prefix: str, content: str) -> str:
    """Return the content of a cell with neighbouring texts without a form joined, and without a run if it is one such text."""
    begin, end = _run_of(prefix, "", "\0").split("\0")
    formless = re.compile(f"(?:{begin}[^<]*{end})+")
    joined = formless.sub(lambda found: found[0].replace(end + begin, ""), content)
    if formless.fullmatch(joined):
        return joined.removeprefix(f"<{prefix}r>").removesuffix(f"</{prefix}r>")
    return joined


def _fields(pieces: Iterator[Piece], prefix: str) -> Iterator[Piece]:
    """Make one element of each field: its code opens it, its result is text inside, its end closes it.

    Elements that begin or end within the code, such as tracked changes, are put before it.
    """
    begun: list[_Field] = []
    form = ""
    for piece in pieces:
        kind = piece.key if isinstance(piece.key, str) and isinstance(piece.what, Raw) else ""
        if kind == "begin":
            if not begun:
                begun.append(_Field([*piece.what.parts]))
                continue
            begun[-1].depth += 1
        elif kind == "end" and begun and begun[-1].depth > 1:
            begun[-1].depth -= 1
        elif kind == "separate" and begun and begun[-1].depth == 1:
            yield Piece("open", Raw((*begun.pop().parts, *piece.what.parts)), "field", loose=True)
            continue
        elif kind == "end" and begun:
            yield Piece("alone", Raw((*begun.pop().parts, *piece.what.parts)))
            continue
        elif kind == "end":
            yield Piece("close", piece.what, "field", loose=True)
            continue
        if _is_form(piece) and piece.kind == "open":
            form = str(piece.what)
        if not begun or (isinstance(piece.what, Raw) and piece.kind in ("open", "close")):
            yield piece
        elif piece.kind == "text":
            begun[-1].parts.append(_run_of(prefix, form, piece.what))
        elif isinstance(piece.what, Raw):
            begun[-1].parts += piece.what.parts
    if begun:
        yield Piece("alone", Raw(tuple(begun[-1].parts)))


def _run_of(prefix: str, form: str, text: str) -> str:
    """Return text as a run of a form."""
    preserve = "" if prefix == "a:" else ' xml:space="preserve"'
    return f"<{prefix}r>{form}<{prefix}t{preserve}>{escaped(text)}</{prefix}t></{prefix}r>"


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Leave out the end of a form where the same form begins again, and forms of nothing."""
    out: list[Piece] = []
    for piece in pieces:
        if piece.kind == "text" and not piece.what:
            continue
        if out and _is_form(piece) and _is_form(out[-1]) and out[-1].key == piece.key and out[-1].kind != piece.kind:
            out.pop()
            continue
        out.append(piece)
    return out


def _base(pieces: list[Piece]) -> str:
    """Return the form of most characters."""
    counts: dict[str, int] = {}
    forms = [""]
    for piece in pieces:
        if piece.kind == "text":
            counts[forms[-1]] = counts.get(forms[-1], 0) + len(piece.what)
        elif isinstance(piece.what, str):
            forms = [*forms, piece.what] if piece.kind == "open" else forms[:-1]
    return max(counts, key=lambda one: counts[one], default="")


def _is_form(piece: Piece) -> bool:
    """Tell whether a piece begins or ends a form."""
    return isinstance(piece.what, str) and piece.kind != "text"
