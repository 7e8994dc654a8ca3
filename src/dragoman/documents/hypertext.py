"""HTML: the text between block tags is a segment, inline tags are its elements, and some attributes are segments too."""

import codecs
import html
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from dragoman.documents.inline import Inline, Piece, gather, written
from dragoman.documents.markup import Token, attribute, escaped, tokens, with_attribute
from dragoman.documents.segments import Segment
from dragoman.iso639 import base_code, language_tag

INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "map",
        "mark",
        "math",
        "output",
        "q",
        "ruby",
        "rp",
        "rt",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
"""Elements inside sentences; all others separate them."""

KEPT = frozenset(["code", "kbd", "samp", "var", "math", "svg", "rt", "rp"])
"""Elements whose content stays as it is: each is one tag."""

SKIPPED = frozenset(["pre"])
"""Blocks whose content stays as it is."""

ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")
"""Attributes whose values are translated."""

LANGUAGE = ("lang", "xml:lang")
"""Attributes that name the language of a page."""

VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
"""Elements without an end tag."""

_BLOCKS = (
    "address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header "
    "hgroup hr main menu nav ol p pre search section table ul"
)
UNCLOSED = {
    name: frozenset(others.split())
    for name, others in {
        "p": _BLOCKS,
        "li": "li",
        "dt": "dt dd",
        "dd": "dt dd",
        "td": "td th tr tbody tfoot",
        "th": "td th tr tbody tfoot",
        "tr": "tr tbody tfoot",
        "option": "option optgroup",
    }.items()
}
"""Elements whose end tag may be left out, each with those that end it when they begin."""

_META = re.compile(r"<meta\s[^>]*>", re.IGNORECASE)
_IN_CONTENT = re.compile(r"charset\s*=\s*([\w.:-]+)", re.IGNORECASE)
_IN_XML = re.compile(r"\A\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)")
_HEAD = 4096
"""Number of bytes in which a page declares its encoding; browsers read 1,024."""
_AS_BROWSERS = {
    **dict.fromkeys(("iso-8859-1", "latin1", "ascii", "us-ascii"), "cp1252"),
    "gb2312": "gbk",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
}
"""Encodings that browsers take for larger ones."""
_OF_PYTHON = frozenset(["unicode_escape", "raw_unicode_escape", "utf_7", "idna", "punycode", "undefined"])
"""Codecs that are no encodings of pages."""
_PRINTABLE = bytes(range(32, 127))


def declared_charset(content: bytes) -> str | None:
    """Return the encoding that a page declares, as browsers understand it; None for UTF-8, and for what is no encoding.

    A page that is UTF-8 and says otherwise is read as UTF-8, as its server may say so too.

    >>> declared_charset(b'<meta charset="iso-8859-1">'), declared_charset(b'<meta charset="utf-8">')
    ('cp1252', None)
    """
    head = re.sub(r"<!--.*?(-->|\Z)", "", content[:_HEAD].decode("latin-1"), flags=re.DOTALL)
    named = [found[1] for found in [_IN_XML.match(head)] if found]
    for tag in _META.findall(head):
        own = attribute(tag, "charset")
        if own is None and (attribute(tag, "http-equiv") or "").lower() == "content-type":
            inside = _IN_CONTENT.search(attribute(tag, "content") or "")
            own = None if inside is None else inside[1]
        named += [] if own is None else [own]
    if not named:
        return None
    name = _AS_BROWSERS.get(named[0].strip().lower(), named[0].strip().lower())
    if not content.isascii():
        with suppress(UnicodeDecodeError):
            content.decode("utf-8")
            return None
    with suppress(UnicodeError, LookupError):
        if codecs.lookup(name).name.replace("-", "_") not in _OF_PYTHON and _PRINTABLE.decode(
            name
        ) == _PRINTABLE.decode("ascii"):
            return name if codecs.lookup(name).name != "utf-8" else None
    return None


@dataclass(frozen=True)
class _Place:
    """Where a segment is: its tokens from `start` to `end`, or an attribute of the token `start`."""

    inline: Inline
    start: int
    end: int
    attribute: str = ""


class HypertextDocument:
    """An HTML document. No tag is made up and none is left out, also where the file is no valid HTML.

    If the page names its language, its translation names `language`, by which browsers choose voice, hyphenation and quotes.
    """

    def __init__(self, text: str, language: str | None = None) -> None:
        self._language = language
        self._tokens = list(tokens(text, is_html=True))
        self._ends = _ends(self._tokens)
        self._places: list[_Place] = []
        self._read()
        self.segments: Sequence[Segment] = [place.inline.segment for place in self._places]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the document with translated segments."""
        out = [token.raw for token in self._tokens]
        if self._language and any(one is not None for one in translations):
            self._name_language(out, self._language)
        for place, translated in zip(self._places, translations, strict=True):
            if translated is not None and place.attribute:
                out[place.start] = with_attribute(out[place.start], place.attribute, translated.text)
        for place, translated in zip(self._places, translations, strict=True):
            if translated is not None and not place.attribute:
                inline = Inline(place.inline.segment, tuple(_as_raw(pair, out) for pair in place.inline.tags))
                blank = any("&nbsp;" in token.raw for token in self._tokens[place.start : place.end])
                out[place.start] = written(inline, translated, _escape_nbsp if blank else escaped)
                out[place.start + 1 : place.end] = [""] * (place.end - place.start - 1)
        return "".join(out)

    def _name_language(self, out: list[str], language: str) -> None:
        """Write the language into the tags of the whole page that name another one."""
        for number, token in enumerate(self._tokens):
            for name in LANGUAGE if token.kind == "open" and token.name.lower() == "html" else ():
                named = attribute(token.raw, name)
                if named and base_code(named) != base_code(language):
                    out[number] = with_attribute(out[number], name, language_tag(language))

    def _read(self) -> None:
        """Find the segments."""
        pieces: list[Piece] = []
        start, number = 0, 0
        while number < len(self._tokens):
            token = self._tokens[number]
            name = token.name.lower()
            kept = says_no(token.raw) if token.kind == "empty" else token.kind == "open" and _is_kept(name, token.raw)
            after = self._end_of(number) if kept else number + 1
            if token.kind in ("open", "empty") and not kept:
                self._read_attributes(number)
            if token.kind == "text" or name in INLINE or (token.kind == "other" and token.raw.startswith("<!--")):
                if self._begins_another(number):
                    pieces.append(Piece("break", (number, number)))
                pieces.append(_piece(token, name, (number, after), kept=kept))
            else:
                self._add(pieces, start, number)
                pieces = []
                start = after
            number = after
        self._add(pieces, start, number)

    def _begins_another(self, number: int) -> bool:
        """Tell whether a tag begins a link or the like directly after another one, as in a menu: pages show them apart."""
        before, token = self._tokens[max(number - 1, 0)], self._tokens[number]
        if (before.kind, token.kind) != ("close", "open"):
            return False
        following = "".join(one.raw for one in self._tokens[number + 1 : number + 2])
        return begins_another(before.name.lower(), token.name.lower(), following)

    def _add(self, pieces: list[Piece], start: int, end: int) -> None:
        """Add a segment, if it has text."""
        if any(piece.kind == "text" and piece.what.strip() for piece in pieces):
            self._places.append(_Place(gather(pieces), start, end))

    def _read_attributes(self, number: int) -> None:
        """Add the attributes of a tag that are text."""
        for name in ATTRIBUTES:
            value = attribute(self._tokens[number].raw, name)
            if value and value.strip():
                self._places.append(_Place(Inline(Segment(value), ()), number, number + 1, name))

    def _end_of(self, number: int) -> int:
        """Return the number of the token after an element; that after its first tag if it is not closed."""
        if number in self._ends:
            return self._ends[number]
        return self._next_of(number) if self._tokens[number].name.lower() in UNCLOSED else number + 1

    def _next_of(self, number: int) -> int:
        """Return the number of the token at which an element without end tag ends: a block after it, or its parent's end."""
        ends_it = UNCLOSED[self._tokens[number].name.lower()]
        place = number + 1
        while place < len(self._tokens):
            token = self._tokens[place]
            if token.kind == "close" or (token.kind in ("open", "empty") and token.name.lower() in ends_it):
                break
            place = self._ends.get(place, place + 1)
        return place


def _ends(of: Sequence[Token]) -> dict[int, int]:
    """Return the number of the token after each element that is closed, by the number of its first tag."""
    ends: dict[int, int] = {}
    begun: dict[str, list[int]] = defaultdict(list)
    for number, token in enumerate(of):
        name = token.name.lower()
        if token.kind == "open" and name not in VOID:
            begun[name].append(number)
        elif token.kind == "close" and begun[name]:
            ends[begun[name].pop()] = number + 1
    return ends


def begins_another(ended: str, begun: str, text: str) -> bool:
    """Tell whether an inline element that begins directly where one ended is shown apart from it, by their names and its text.

    >>> begins_another("a", "a", "x"), begins_another("span", "span", "X"), begins_another("span", "span", "x")
    (True, True, False)
    """
    first = text.lstrip()[:1]
    return ended == begun and (begun in ("a", "label") or (begun == "span" and (first.isupper() or first.isdigit())))


def says_no(tag: str) -> bool:
    """Tell whether a tag asks that its element stays as it is: by HTML's attribute, or by the class that Google made usual.

    >>> says_no('<b translate="no">'), says_no('<b class="name NoTranslate">'), says_no('<b class="no">')
    (True, True, False)
    """
    classes = (attribute(tag, "class") or "").lower().split()
    return (attribute(tag, "translate") or "").lower() == "no" or "notranslate" in classes


def _is_kept(name: str, tag: str) -> bool:
    """Tell whether the content of an element stays as it is."""
    return name in KEPT or name in SKIPPED or says_no(tag)


def _piece(token: Token, name: str, place: tuple[int, int], *, kept: bool) -> Piece:
    """Return a token as a piece; of a tag, the numbers of the tokens that it stands for."""
    if token.kind == "text":
        return Piece("text", html.unescape(token.raw))
    if name in ("br", "input"):
        return Piece("break", place)
    if kept or token.kind in ("empty", "other") or name in VOID:
        return Piece("alone", place)
    return Piece("open" if token.kind == "open" else "close", place, name)


def _as_raw(pair: tuple[Piece, Piece | None], out: Sequence[str]) -> tuple[Piece, Piece | None]:
    """Return the pieces of an element with the tags as they are to be written."""
    opening, closing = pair
    first = Piece(opening.kind, "".join(out[opening.what[0] : opening.what[1]]))
    return first, None if closing is None else Piece(closing.kind, "".join(out[closing.what[0] : closing.what[1]]))


def _escape_nbsp(text: str) -> str:
    """Return text as it is written in a segment that names the no-break space."""
    return escaped(text).replace("\u00a0", "&nbsp;")
