"""Plain text: each line is a segment."""

import re
from collections.abc import Sequence

from dragoman.documents.inline import Inline, Piece, gather, written
from dragoman.documents.markup import tokens
from dragoman.documents.segments import Segment

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class PlainDocument:
    """A text file; line ends and blank lines stay as they are."""

    def __init__(self, text: str) -> None:
        self._lines = [line for line in _LINE.findall(text) if line]
        self._inlines = {n: literal(line.rstrip("\r\n")) for n, line in enumerate(self._lines) if line.strip()}
        self.segments: Sequence[Segment] = [one.segment for one in self._inlines.values()]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the document with translated segments."""
        lines = list(self._lines)
        for (number, inline), translated in zip(self._inlines.items(), translations, strict=True):
            if translated is not None:
                end = lines[number][len(lines[number].rstrip("\r\n")) :]
                lines[number] = rewritten(inline, translated).replace("\r", " ").replace("\n", " ") + end
        return "".join(lines)


def literal(text: str) -> Inline:
    """Return text in which nothing but tags is markup; line breaks and tabs in it end sentences, and stay.

    >>> literal("a <b>word</b> & more").segment.text
    'a word & more'
    """
    pieces: list[Piece] = []
    for token in tokens(text):
        if token.kind == "text":
            for number, part in enumerate(re.split(r"(\r\n|[\r\n\t])", token.raw)):
                pieces.append(Piece("break" if number % 2 else "text", part))
        elif token.kind in ("open", "close"):
            pieces.append(Piece(token.kind, token.raw, token.name))
        else:
            pieces.append(Piece("alone", token.raw))
    return gather([piece for piece in pieces if piece.what])


def rewritten(inline: Inline, translated: Segment) -> str:
    """Return a translation of literal text with its tags."""
    return written(inline, translated, str)
