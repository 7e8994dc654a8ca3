"""Text with tags cut into tags and text, without changing either: XML or HTML, well-formed or not."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "open", "close", "alone"]
"""Text between tags; a tag that opens an element, one that closes it, or one that is neither: a comment, `<x/>`, `<br>`."""

_NAME = r"[A-Za-z_:][^\s/>]*"
_TAG = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![A-Za-z][^>]*>"
    rf"|<(?P<close>/)?(?P<name>{_NAME})(?P<rest>(?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(?P<alone>/)?>",
    re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

_VOID = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(_VOID.split())
"""Elements of HTML without an end tag."""

RAW = frozenset({"script", "style", "textarea", "title"})
"""Elements of HTML in which there are no tags."""


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
    pieces: list[Piece] = []
    place = done = 0
    while found := _TAG.search(markup, place):
        if found.start() > done:
            pieces.append(Piece("text", markup[done : found.start()]))
        piece = _tag(found, is_html=is_html)
        pieces.append(piece)
        place = done = found.end()
        if is_html and piece.kind == "open" and piece.name in RAW:
            end = re.compile(rf"</{re.escape(piece.name)}\s*>", re.IGNORECASE).search(markup, place)
            place = len(markup) if end is None else end.start()
    if done < len(markup):
        pieces.append(Piece("text", markup[done:]))
    return _paired(pieces)


def decoded(text: str) -> str:
    """Return text with its entities as characters.

    >>> decoded("R&amp;D &lt; 5&nbsp;&euro; &x &copy=1")
    'R&D < 5\\xa0€ &x &copy=1'
    """
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


def encoded(text: str) -> str:
    """Return text with the characters as entities that would be taken for markup."""
    return html.escape(text, quote=False)


def tags_of(markup: str, *, is_html: bool) -> list[str]:
    """Return the tags of markup in order, exactly as they were written."""
    return [piece.raw for piece in cut(markup, is_html=is_html) if piece.kind != "text"]


def is_nested(markup: str, *, is_html: bool) -> bool:
    """Tell whether every tag that opens an element has one that closes it, and elements do not overlap.

    >>> is_nested("<a><b></b></a>", is_html=False), is_nested("<a><b></a></b>", is_html=False)
    (True, False)
    """
    return all(piece.partner is not None for piece in cut(markup, is_html=is_html) if piece.kind in ("open", "close"))


def _tag(found: re.Match[str], *, is_html: bool) -> Piece:
    """Return the piece that a tag is."""
    name = found["name"]
    if name is None:
        return Piece("alone", found[0], found[0][:2])
    name = name.lower() if is_html else name
    if found["close"]:
        return Piece("close", found[0], name)
    alone = bool(found["alone"]) or (is_html and name in VOID)
    return Piece("alone" if alone else "open", found[0], name)


def _paired(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with the partners of those that open and close the same element."""
    open_: list[int] = []
    partners: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        if piece.kind == "open":
            open_.append(number)
        elif piece.kind == "close":
            depth = next((d for d in range(len(open_) - 1, -1, -1) if pieces[open_[d]].name == piece.name), None)
            if depth is not None:
                partners[open_[depth]], partners[number] = number, open_[depth]
                del open_[depth:]
    return [
        Piece(piece.kind, piece.raw, piece.name, partners.get(number)) if piece.name else piece
        for number, piece in enumerate(pieces)
    ]
