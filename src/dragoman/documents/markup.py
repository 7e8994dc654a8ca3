"""XML and HTML cut into tags and text without losing a character: what is put together again is what was read."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal
from xml.parsers import expat

from dragoman.errors import InputError

DEEPEST = 400
"""Number of elements inside one another beyond which a file is refused."""

_TAG = re.compile(
    r"(?P<comment><!--.*?(?:-->|\Z))|(?P<begun><!\[CDATA\[|<\?|<![A-Za-z])"
    r"|</(?P<close>[A-Za-z_][^\s/<>]*)[^<>]*>"
    r"|<(?P<open>[A-Za-z_][^\s/<>]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>",
    re.DOTALL,
)
_ENDS = {"<![CDATA[": "]]>", "<?": "?>"}
"""How what begins like this ends; declarations such as `<!DOCTYPE` end with ">"."""
_RAW = re.compile(r"<(script|style|textarea|title|xmp|noscript|iframe)\b", re.IGNORECASE)
_ENCODING = re.compile(rb"""<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")

_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
"""A word of a tag, and its value if it is an attribute with one."""


@dataclass(frozen=True)
class Token:
    """A part of a markup file, as it is written."""

    kind: Literal["text", "open", "close", "empty", "other"]
    raw: str
    name: str = ""


@dataclass
class Element:
    """An element of an XML file: its tags as they are written, and between them elements and other tokens."""

    name: str
    opening: str
    closing: str = ""
    children: "list[Element | Token]" = field(default_factory=list)

    def raw(self) -> str:
        """Return the element as it is written."""
        pieces: list[str] = []
        waiting: list[Element | Token | str] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, Element):
                pieces.append(one.opening)
                waiting.append(one.closing)
                waiting += reversed(one.children)
            else:
                pieces.append(one.raw if isinstance(one, Token) else one)
        return "".join(pieces)

    def elements(self, *, but: str | None = None) -> "Iterator[Element]":
        """Yield the element and all inside it, in document order, without those of a name and what is in them."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            if one.name != but:
                yield one
                waiting += [child for child in reversed(one.children) if isinstance(child, Element)]

    def child(self, *names: str) -> "Element | None":
        """Return the first child with one of these names."""
        found = (one for one in self.children if isinstance(one, Element) and one.name in names)
        return next(found, None)

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute."""
        return attribute(self.opening, name)


def tokens(text: str, *, is_html: bool = False) -> Iterator[Token]:
    """Yield the tags of a file and the text between them; in HTML, scripts and the like are text of the kind `other`.

    >>> [(one.kind, one.raw) for one in tokens("a<br/><b>c</b>")]
    [('text', 'a'), ('empty', '<br/>'), ('open', '<b>'), ('text', 'c'), ('close', '</b>')]
    """
    place, last = 0, {end: text.rfind(end) for end in (">", *_ENDS.values())}
    searched = 0
    while found := _TAG.search(text, searched):
        searched = found.end()
        if found["begun"]:
            end = _ENDS.get(found["begun"], ">")
            if searched > last[end]:
                continue  # a text that looks like the beginning of one
            searched = text.index(end, searched) + len(end)
        if found.start() > place:
            yield Token("text", text[place : found.start()])
        raw = text[found.start() : searched]
        place = searched
        if found["open"]:
            yield Token("empty" if raw.endswith("/>") else "open", raw, found["open"])
            if is_html and (inside := _RAW.match(raw)) and not raw.endswith("/>"):
                closing = re.compile(f"</{inside[1]}", re.IGNORECASE).search(text, place)
                searched = closing.start() if closing else len(text)
                kind: Literal["text", "other"] = "text" if inside[1].lower() in ("title", "textarea") else "other"
                if searched > place:
                    yield Token(kind, text[place:searched])
                place = searched
        elif found["close"]:
            yield Token("close", raw, found["close"])
        else:
            yield Token("text" if raw.startswith("<![CDATA[") and not is_html else "other", raw)
    if place < len(text):
        yield Token("text", text[place:])


def decoded(raw: str) -> str:
    """Return the text that is written with entities, or in a section of character data.

    >>> decoded("a &amp; b"), decoded("<![CDATA[a & b]]>")
    ('a & b', 'a & b')
    """
    return raw[9:-3] if raw.startswith("<![CDATA[") else html.unescape(raw)


def escaped(text: str) -> str:
    """Return text as it is written between tags.

    >>> escaped("a < b & c")
    'a &lt; b &amp; c'
    """
    return html.escape(text, quote=False)


def attribute(opening: str, name: str) -> str | None:
    """Return the value of an attribute of a tag; None if it has none.

    >>> attribute('<file target-language="vi">', "target-language")
    'vi'
    """
    found = _attribute(opening, name)
    return None if found is None else html.unescape(found[2][1:-1] if found[2][0] in "\"'" else found[2])


def with_attribute(opening: str, name: str, value: str) -> str:
    """Return a tag in which an attribute has this value.

    >>> with_attribute("<target/>", "state", "new"), with_attribute('<a b="1" c="2">', "b", "3")
    ('<target state="new"/>', '<a b="3" c="2">')
    """
    quoted = f'"{html.escape(value)}"'
    found = _attribute(opening, name)
    if found is not None:
        return f"{opening[: found.start(2)]}{quoted}{opening[found.end(2) :]}"
    end = len(opening) - (2 if opening.endswith("/>") else 1)
    return f"{opening[:end].rstrip()} {name}={quoted}{opening[end:]}"


def decode_xml(content: bytes, where: str) -> tuple[str, str]:
    """Return the text of an XML file, and its encoding. InputError if it is none, or declares entities.

    Nothing that it refers to is opened, and no entity of its own is replaced.
    """
    parser = expat.ParserCreate()
    depth = 0

    def begin(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"{where} has more than {DEEPEST} elements inside one another; simplify it")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_arguments: object) -> None:
        raise InputError(f"{where} declares entities, which are not read; save it without a document type declaration")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = begin, end, refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise InputError(
            f"{where} is not well-formed XML ({error}); save it again with the program it is from"
        ) from None
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        declared = _ENCODING.match(content.removeprefix(b"\xef\xbb\xbf"))
        encoding = declared[1].decode("ascii") if declared else "utf-8"
    try:
        return content.decode(encoding), encoding
    except (LookupError, UnicodeDecodeError):
        raise InputError(f"{where} is not in its encoding, {encoding}; convert it to UTF-8") from None


def encode_xml(text: str, encoding: str) -> bytes:
    """Return the bytes of an XML file; what the encoding lacks is written as numbers."""
    return text.encode(encoding, errors="xmlcharrefreplace")


def tree(text: str) -> Element:
    """Return the tree of a well-formed XML file: an element without name or tags that contains everything."""
    root = Element("", "")
    around = [root]
    for token in tokens(text):
        if token.kind == "open":
            element = Element(token.name, token.raw)
            around[-1].children.append(element)
            around.append(element)
        elif token.kind == "empty":
            around[-1].children.append(Element(token.name, token.raw))
        elif token.kind == "close":
            around.pop().closing = token.raw
        else:
            around[-1].children.append(token)
    return root


def _attribute(opening: str, name: str) -> re.Match[str] | None:
    """Return where an attribute of a tag is, not a text like one in the value of another: its name and its value."""
    found = _ATTRIBUTE.finditer(opening, opening.find("<") + 1)
    return next((one for one in found if one[1].lower() == name.lower() and one[2]), None)
