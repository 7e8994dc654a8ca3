"""Catalogs of messages (PO): entries without a translation are translated, and all lines but theirs stay as they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.documents.inline import Inline
from dragoman.documents.plain import literal, rewritten
from dragoman.documents.segments import Segment

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_KEYWORD = re.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(".*")\s*$')
_CONTINUED = re.compile(r'\s*(".*")\s*$')
_ONE_FORM = re.compile(r"Plural-Forms:\s*nplurals\s*=\s*1\b")
_FORM_OF_ONE = re.compile(r"Plural-Forms:[^\\]*?\bn\s*(?:%\s*100?\s*)?==\s*1\b[^?\\]*\?\s*(\d)")
"""What a header says of the form of 1, as in `n==0 ? 0 : n==1 ? 1 : 2`; without a condition for 1 it is the first."""
_CHARSET = re.compile(r"(Content-Type:[^\"\\]*\bcharset=)(?!utf-8\b)[^\s\"\\;]+", re.IGNORECASE)
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\",
}  # fmt: skip
_ESCAPED = re.compile(r"((?:\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2})+)|\\(.)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class _Place:
    """A message to translate, and the lines that its translation takes."""

    inline: Inline
    keyword: str
    start: int
    end: int


class CatalogDocument:
    """A PO file; of a message with plurals, the form of 1 is that of the singular, unless it is the only one."""

    def __init__(self, text: str) -> None:
        self._lines = [line for line in _LINE.findall(text) if line]
        self._places: list[_Place] = []
        self._header = range(0)
        """The lines of the header."""
        values: dict[str, str] = {}
        whole = re.sub(r'"\s*\n\s*"', "", text)  # a header may be wrapped
        form = _FORM_OF_ONE.search(whole)
        singular = f"msgstr[{form[1] if form else 0}]"
        has_one_form = _ONE_FORM.search(whole) is not None or "msgstr[1]" not in text
        number = 0
        while number < len(self._lines):
            found = _KEYWORD.match(self._lines[number].rstrip("\r\n"))
            if found is None:
                if not self._lines[number].strip():
                    values = {}
                number += 1
                continue
            start, keyword, value = number, found[1], unquoted(found[2])
            number += 1
            while number < len(self._lines) and (more := _CONTINUED.match(self._lines[number].rstrip("\r\n"))):
                value += unquoted(more[1])
                number += 1
            if keyword == "msgid":
                values = {}
            values[keyword] = value
            source = values.get("msgid", "")
            if (keyword, source) == ("msgstr", "") and not self._header:
                self._header = range(start, number)
            if keyword not in ("msgstr", singular) or (keyword == singular and has_one_form):
                source = values.get("msgid_plural", source)
            if keyword.startswith("msgstr") and source.strip() and not value:
                self._places.append(_Place(literal(source), keyword, start, number))
        self.segments: Sequence[Segment] = [replace(place.inline.segment, beside=True) for place in self._places]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the catalog with translated messages, which is UTF-8, and says so: a template names `CHARSET`."""
        lines = list(self._lines)
        for number in self._header if any(one is not None for one in translations) else ():
            lines[number] = _CHARSET.sub(r"\1UTF-8", lines[number])
        for place, translated in zip(self._places, translations, strict=True):
            if translated is not None:
                end = "\r\n" if lines[place.start].endswith("\r\n") else "\n"
                value = rewritten(place.inline, translated)
                parts = re.findall(r"[^\n]*\n|[^\n]+\Z", value)
                shown = ["", *parts] if len(parts) > 1 else parts
                quoted = [f"{_quoted(part)}{end}" for part in shown]
                lines[place.start] = f"{place.keyword} {''.join(quoted)}"
                lines[place.start + 1 : place.end] = [""] * (place.end - place.start - 1)
        return "".join(lines)


def unquoted(text: str) -> str:
    r"""Return what a quoted string says.

    >>> unquoted(r'"a \"b\"\n"')
    'a "b"\n'
    """
    return _ESCAPED.sub(_meant, text[1:-1])


def _meant(found: re.Match[str]) -> str:
    """Return the characters that an escape stands for, or several that are the bytes of one; an unknown one as it is written."""
    if found[1] is None:
        return _ESCAPES.get(found[2], found[0])
    numbers = found[1].split("\\")[1:]
    codes = bytes(int(one[1:], 16) if one.startswith("x") else int(one, 8) & 0xFF for one in numbers)
    return codes.decode("utf-8", errors="replace")


def _quoted(text: str) -> str:
    """Return a string in quotes."""
    names = {value: f"\\{name}" for name, value in _ESCAPES.items()}
    quoted = "".join(names.get(one, one) for one in text)
    return '"' + _CONTROL.sub(lambda found: f"\\{ord(found[0]):03o}", quoted) + '"'
