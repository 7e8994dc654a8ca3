"""Text with tags cut into tags and text, without changing either: XML or HTML, well-formed or not."""

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html.entities import html5
from typing import Literal

from dragoman.documents.containment import DEEPEST
from dragoman.documents.hypertext import VOID
from dragoman.documents.markup import Token, tokens

Kind = Literal["text", "open", "close", "alone"]
"""Text between tags; a tag that opens an element, one that closes it, or one that is neither: a comment, `<x/>`, `<br>`."""

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


@dataclass(frozen=True)
class Piece:
    """A tag, or text between tags, exactly as it was written."""

    kind: Kind
    raw: str
    name: str = ""
    """Name of the element; in small letters in HTML."""
    partner: int | None = None
    """Number of the piece that closes the element which this one opens, or opens the one that this closes."""


def cut(markup: str, *, is_html: bool) -> list[Piece]:
    """Cut markup into tags and text. Joined, the pieces are the markup.

    >>> [piece.raw for piece in cut("a < b <i>c</i>", is_html=True)]
    ['a < b ', '<i>', 'c', '</i>']
    """
    return _paired([_piece(token, is_html=is_html) for token in tokens(markup, is_html=is_html)])


def decoded(text: str) -> str:
    """Return text with its entities as characters.

    >>> decoded("R&amp;D &lt; 5&nbsp;&euro; &x &copy=1")
    'R&D < 5\\xa0€ &x &copy=1'
    >>> decoded("&copyfoo;")
    '&copyfoo;'
    """
    return _ENTITY.sub(lambda found: _character(found[0]), text)


def _character(entity: str) -> str:
    """Return what an entity stands for; one that HTML does not know, as it is, also where its beginning is known."""
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def tags_of(markup: str, *, is_html: bool) -> list[str]:
    """Return the tags of markup in order, exactly as they were written."""
    return [piece.raw for piece in cut(markup, is_html=is_html) if piece.kind != "text"]


def is_nested(markup: str, *, is_html: bool) -> bool:
    """Tell whether every tag that opens an element has one that closes it, and elements do not overlap.

    >>> is_nested("<a><b></b></a>", is_html=False), is_nested("<a><b></a></b>", is_html=False)
    (True, False)
    """
    return all(piece.partner is not None for piece in cut(markup, is_html=is_html) if piece.kind in ("open", "close"))


def _piece(token: Token, *, is_html: bool) -> Piece:
    """Return the piece that a part of a markup file is."""
    raw = token.raw
    if token.kind in ("text", "other"):
        is_tag = raw.startswith(("<!", "<?")) if token.kind == "other" else raw.startswith("<![CDATA[")
        return Piece("alone", raw, raw[:2]) if is_tag else Piece("text", raw)
    name = token.name.lower() if is_html else token.name
    if token.kind == "close":
        return Piece("close", raw, name)
    alone = token.kind == "empty" or (is_html and name in VOID)
    return Piece("alone" if alone else "open", raw, name)


def _paired(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with the partners of those that open and close the same element."""
    open_: list[int] = []
    names = Counter[str]()
    partners: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        if piece.kind == "open" and len(open_) < DEEPEST:
            open_.append(number)
            names[piece.name] += 1
        elif piece.kind == "close" and names[piece.name]:
            while pieces[last := open_.pop()].name != piece.name:
                names[pieces[last].name] -= 1
            names[piece.name] -= 1
            partners[last], partners[number] = number, last
    return [
        Piece(piece.kind, piece.raw, piece.name, partners.get(number)) if piece.name else piece
        for number, piece in enumerate(pieces)
    ]
