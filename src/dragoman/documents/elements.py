"""Paragraphs of XML files whose text is mixed with inline elements: OpenDocument, XLIFF and TMX."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dragoman.documents.inline import Inline, Piece, gather
from dragoman.documents.markup import Element, Token, decoded, escaped, tokens
from dragoman.documents.segments import Segment

_MARK_OF_RANGE = re.compile(r"(w:\w+?|text:[\w-]+?|office:annotation)-?([Ss]tart|[Ee]nd)")
"""Marks such as `w:bookmarkStart`, `w:commentRangeEnd`, `text:reference-mark-start`, `office:annotation-end`."""


@dataclass(frozen=True)
class Raw:
    """Parts of a file that a tag stands for, written when they are needed: they may contain paragraphs themselves."""

    parts: tuple[Element | Token | str, ...]

    def __str__(self) -> str:
        return "".join(part if isinstance(part, str) else _raw(part) for part in self.parts)


class Replaceable(Protocol):
    """What has content to replace."""

    def replace(self, translated: Segment) -> None:
        """Put a translation in the place of the content."""


@dataclass(frozen=True)
class Paragraph:
    """An element whose content is a segment."""

    element: Element
    inline: Inline

    def replace(self, translated: Segment) -> None:
        """Put a translation in the place of the content."""
        self.element.children = [Token("text", mixed(self.inline, translated))]


def paragraph(element: Element, pairs: frozenset[str], breaks: frozenset[str] = frozenset()) -> Paragraph:
    """Return an element as a paragraph: inside it, elements named in `pairs` surround text, all others are tags alone."""
    pieces: list[Piece] = []
    last: Piece | None = None
    """The text or line break read last."""
    waiting: list[Element | Token | Piece] = list(reversed(element.children))
    while waiting:
        one = waiting.pop()
        if isinstance(one, Piece):
            new = [one]
        elif isinstance(one, Token):
            new = [*_said(decoded(one.raw))] if one.kind == "text" else [Piece("alone", Raw((one,)))]
        elif one.name in pairs and one.closing and not _is_protected(one):
            new = [Piece("open", Raw((one.opening,)), id(one))]
            waiting.append(Piece("close", Raw((one.closing,)), id(one)))
            waiting += reversed(one.children)
        elif one.name == "text:s" and _ends_with_word(last):
            new = _spaces(one.attribute("text:c") or "1")
        else:
            new = [_lone(one, breaks)]
        pieces += new
        last = next((piece for piece in reversed(new) if piece.kind in ("text", "break")), last)
    return Paragraph(element, gather(pieces))


def mixed(inline: Inline, translated: Segment) -> str:
    """Return a translation with its elements, as it is written in XML."""
    return "".join(
        escaped(piece.what) if piece.kind == "text" else str(piece.what) for piece in inline.events(translated)
    )


def replace_all(paragraphs: Sequence[Replaceable], translations: Sequence[Segment | None]) -> bool:
    """Put translations into paragraphs, the inner ones first. Return whether there was any."""
    changed = False
    for one, translated in reversed(list(zip(paragraphs, translations, strict=True))):
        if translated is not None:
            one.replace(translated)
            changed = True
    return changed


def _said(text: str) -> Iterator[Piece]:
    """Yield text as pieces; tags that are written as text, as those of a page in XLIFF are, are tags of it."""
    for token in tokens(text):
        if token.kind == "text":
            yield Piece("text", token.raw)
        elif token.kind in ("open", "close"):
            yield Piece(token.kind, Raw((escaped(token.raw),)), token.name)
        else:
            yield Piece("alone", Raw((escaped(token.raw),)))


def _ends_with_word(last: Piece | None) -> bool:
    """Tell whether what was read last, but for tags, is neither a space nor a line break."""
    return last is not None and last.kind == "text" and not last.what[-1:].isspace()


def _spaces(count: str) -> list[Piece]:
    """Return so many spaces after a word: the first as text, the others as OpenDocument has them."""
    rest = int(count) - 1 if count.isdecimal() else 0
    return [Piece("text", " "), *([Piece("alone", Raw((f'<text:s text:c="{rest}"/>',)))] if rest > 0 else [])]


def _is_protected(element: Element) -> bool:
    """Tell whether the text of a mark in an XLIFF file stays as it is."""
    return element.name == "mrk" and (
        element.attribute("translate") == "no" or element.attribute("mtype") == "protected"
    )


def _lone(element: Element, breaks: frozenset[str]) -> Piece:
    """Return an element without text of the paragraph as a piece; codes and marks that begin and end something are a pair."""
    if element.name in ("bpt", "sc", "ept", "ec"):
        key = _first_attribute(element, "rid", "startRef", "i", "id")
        return Piece("open" if element.name in ("bpt", "sc") else "close", Raw((element,)), key, loose=True)
    return mark_of_range(element) or Piece("break" if element.name in breaks else "alone", Raw((element,)))


def mark_of_range(element: Element) -> Piece | None:
    """Return the mark at the begin or end of a bookmark, a comment and the like as a piece; None for another element."""
    begins = element.name == "office:annotation"
    found = _MARK_OF_RANGE.fullmatch(f"{element.name}-start" if begins else element.name)
    if found is None:
        return None
    key = (found[1], _first_attribute(element, "w:id", "text:name", "text:change-id", "text:id", "office:name"))
    return Piece("open" if found[2].lower() == "start" else "close", Raw((element,)), key, loose=True)


def _first_attribute(element: Element, *names: str) -> str:
    """Return the value of the first of some attributes that an element has; nothing if it has none."""
    return next((found for name in names if (found := element.attribute(name)) is not None), "")


def _raw(part: Element | Token) -> str:
    """Return a part as it is written."""
    return part.raw() if isinstance(part, Element) else part.raw
