"""Translation units of TMX files (Translation Memory eXchange, version 1.4b), read as a stream in bounded memory."""

import html
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from xml.parsers import expat

from dragoman.iso639 import base_code

DEEPEST = 500
"""Maximum number of elements inside one another."""
LONGEST_UNIT = 1 << 24
"""Maximum number of characters in the texts of one unit."""
LONGEST_TAG = 1 << 22
"""Maximum number of bytes of a tag or a comment that comes in pieces: expat reads it from its start with each of them."""
_AROUND_TEXT = frozenset(["hi", "g", "pc", "mrk"])
"""Elements in a segment that surround text; what the others contain are codes of the program that the text is from."""


class Unit(NamedTuple):
    """A sentence in several languages."""

    line: int
    """The line that it begins in, counted from 1."""
    texts: dict[str, str]
    """The sentence, without its tags and on one line, by the language's tag in lower case, such as `en-us`."""
    dates: Mapping[str, str] = MappingProxyType({})
    """The digits of the date at which the text in a language was last changed, or the unit itself (language "")."""

    def pair(self, source: str, target: str) -> tuple[str, str] | None:
        """Return the sentence in two languages; None if it is not in both.

        A region counts only if the sentence is there several times in the language.

        >>> unit = Unit(1, {"en-gb": "colour", "en-us": "color", "vi": "màu"})
        >>> unit.pair("en-US", "vi"), unit.pair("en", "vi-VN"), unit.pair("vi", "fr")
        (('color', 'màu'), ('colour', 'màu'), None)
        """
        first, second = self._tag_of(source), self._tag_of(target)
        return None if first is None or second is None or first == second else (self.texts[first], self.texts[second])

    def changed(self, language: str) -> str:
        """Return the digits of the date of the text in a language, or of the unit; nothing if it has none.

        >>> Unit(1, {"en": "cat", "vi": "mèo"}, {"": "20250102030405", "en": "2026"}).changed("vi")
        '20250102030405'
        """
        return self.dates.get(self._tag_of(language) or "", "") or self.dates.get("", "")

    def _tag_of(self, language: str) -> str | None:
        """Return the tag of the text in a language."""
        exact = language.lower().replace("_", "-")
        same = (tag for tag in self.texts if base_code(tag) == base_code(language))
        return exact if exact in self.texts else next(same, None)


def read_units(chunks: Iterable[bytes]) -> Iterator[Unit]:
    """Read the units of a TMX file that comes in pieces.

    ValueError says what is wrong with a file that is none. Nothing that it refers to is opened, and it may declare no entities.
    """
    parser = _Parser()
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.feed(b"", last=True)


class _Parser:
    """The state of a file that is read."""

    def __init__(self) -> None:
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler, self._expat.EndElementHandler = self._open, self._close
        self._expat.CharacterDataHandler, self._expat.SkippedEntityHandler = self._read, self._skip
        self._expat.EntityDeclHandler = self._refuse
        self._around: list[str] = []
        self._units: list[Unit] = []
        self._dates: dict[str, str] = {}
        self._unit = Unit(0, {}, self._dates)
        self._language = ""
        self._text: list[str] | None = None
        self._size = self._codes = self._fed = 0

    def feed(self, chunk: bytes, *, last: bool = False) -> list[Unit]:
        """Read a piece and return the units that end in it."""
        try:
            self._expat.Parse(chunk, last)
        except expat.ExpatError as error:
            raise ValueError(
                f"is not well-formed XML (line {error.lineno}: {expat.ErrorString(error.code)}); save it again with the "
                "program it is from"
            ) from None
        self._fed += len(chunk)
        if self._fed - self._expat.CurrentByteIndex > LONGEST_TAG:
            raise ValueError(
                f"has a tag or a comment of more than {LONGEST_TAG >> 20} MiB (line {self._expat.CurrentLineNumber}); remove it"
            )
        units, self._units = self._units, []
        return units

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if not self._around and name != "tmx":
            raise ValueError(
                f"begins with <{name[:40]}> and is not a TMX file; give one, or name the format that it has"
            )
        self._around.append(name)
        if len(self._around) > DEEPEST:
            raise ValueError(f"has more than {DEEPEST} elements inside one another; simplify it")
        if self._text is not None:
            self._codes += self._codes > 0 or name not in _AROUND_TEXT
        elif name == "tu":
            self._dates = {}
            self._unit, self._size = Unit(self._expat.CurrentLineNumber, {}, self._dates), 0
            self._note_date("", attributes)
        elif name == "tuv":
            self._language = (attributes.get("xml:lang") or attributes.get("lang") or "").lower().replace("_", "-")
            self._note_date(self._language, attributes)
        elif name == "seg":
            self._text = []

    def _note_date(self, language: str, attributes: dict[str, str]) -> None:
        """Keep the date of the first text in a language, or (language "") of the unit, if it has one."""
        written = attributes.get("changedate") or attributes.get("creationdate") or ""
        if language not in self._unit.texts and (digits := "".join(filter(str.isdecimal, written[:20]))):
            self._dates[language] = digits

    def _close(self, name: str) -> None:
        """End an element."""
        self._around.pop()
        if self._codes:
            self._codes -= 1
        elif name == "seg" and self._text is not None:
            self._unit.texts.setdefault(self._language, " ".join("".join(self._text).split()))
            self._text = None
        elif name == "tu":
            self._units.append(self._unit)

    def _read(self, text: str) -> None:
        """Take text."""
        if self._text is not None and not self._codes:
            self._text.append(text)
            self._size += len(text)
            if self._size > LONGEST_UNIT:
                raise ValueError(
                    f"has a unit of more than {LONGEST_UNIT >> 20} million characters (line {self._unit.line}); remove it"
                )

    def _skip(self, name: str, is_parameter: bool) -> None:
        """Take an entity of a document type that is not opened, such as `&nbsp;`."""
        if not is_parameter:
            self._read(html.unescape(f"&{name};"))

    def _refuse(self, *_arguments: object) -> None:
        """Refuse entities, which may stand for endless text."""
        raise ValueError("declares entities, which are not read; save it without a document type declaration")
