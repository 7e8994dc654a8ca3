"""EPUB books: their pages are HTML documents; the table of contents, the title and the language are in files of their own."""

import re
from collections.abc import Sequence

from dragoman.documents.archives import entries, zipped_again
from dragoman.documents.elements import Paragraph, paragraph, replace_all
from dragoman.documents.encoded import EncodedDocument
from dragoman.documents.hypertext import HypertextDocument, declared_charset
from dragoman.documents.markup import Element, Token, decode_xml, decoded, encode_xml, escaped, tree
from dragoman.documents.segments import Segment
from dragoman.errors import InputError
from dragoman.iso639 import base_code, language_tag

_PARTS = re.compile(r".*\.(?:xhtml|html|htm|ncx|opf)", re.IGNORECASE)
_LISTS = (".ncx", ".opf")
_TITLES = frozenset(["text", "dc:title", "dc:description"])
"""Elements with text: entries of the contents, and what libraries show of the book."""


class BookDocument:
    """A book in the format EPUB 2 or 3. InputError if it has more than `largest` bytes, or more than `most_tags` tags."""

    def __init__(
        self,
        content: bytes,
        where: str,
        language: str | None = None,
        *,
        largest: int | None = None,
        most_tags: int | None = None,
    ) -> None:
        self._entries = entries(content, where, _PARTS, largest=largest)
        tags = sum(inside.count(b"<") for info, inside in self._entries if _PARTS.fullmatch(info.filename))
        if most_tags is not None and tags > most_tags:
            raise InputError(f"{where} has more than {most_tags:,} tags in it; divide it")
        self._parts: list[tuple[int, EncodedDocument | _Titles]] = []
        for number, (info, inside) in enumerate(self._entries):
            if _PARTS.fullmatch(info.filename):
                place = f"{where}: {info.filename}"
                self._parts.append((number, _opened(inside, place, language)))
        if not any(isinstance(part, EncodedDocument) for _, part in self._parts):
            raise InputError(
                f"{where} has no page of an .epub file in it; name it by its format, or say it with --format"
            )
        self.segments: Sequence[Segment] = [one for _, part in self._parts for one in part.segments]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the book with translated segments; pages without any are those of the original, byte for byte."""
        contents = [inside for _, inside in self._entries]
        any_at_all = any(one is not None for one in translations)
        done = 0
        for number, part in self._parts:
            own = translations[done : done + len(part.segments)]
            done += len(own)
            if any(one is not None for one in own) or (any_at_all and isinstance(part, _Titles)):
                contents[number] = part.written(own)
        return zipped_again(self._entries, contents)


def _opened(inside: bytes, where: str, language: str | None) -> "EncodedDocument | _Titles":
    """Read a part of a book."""
    if where.lower().endswith(_LISTS):
        return _Titles(inside, where, language)
    return EncodedDocument(
        inside, where, lambda text: HypertextDocument(text, language), declared=declared_charset(inside)
    )


class _Titles:
    """The table of contents of a book (EPUB 2), or what is said of the book, with its language."""

    def __init__(self, content: bytes, where: str, language: str | None) -> None:
        self._language = language
        text, self._encoding = decode_xml(content, where)
        self._root = tree(text)
        self._paragraphs: list[Paragraph] = []
        for one in self._root.elements():
            if one.name in _TITLES and one.closing:
                found = paragraph(one, frozenset())
                self._paragraphs += [found] if found.inline.segment.text.strip() else []
        self.segments: Sequence[Segment] = [one.inline.segment for one in self._paragraphs]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the part with translated segments."""
        replace_all(self._paragraphs, translations)
        if self._language:
            self._name_language(self._language)
        return encode_xml(self._root.raw(), self._encoding)

    def _name_language(self, language: str) -> None:
        """Write the language where another one is named."""
        for one in self._root.elements():
            if one.name == "dc:language" and base_code(_text_of(one)) != base_code(language):
                one.children = [Token("text", escaped(language_tag(language)))]


def _text_of(element: Element) -> str:
    """Return the text of an element without others in it."""
    return "".join(
        decoded(one.raw) for one in element.children if isinstance(one, Token) and one.kind == "text"
    ).strip()
