"""XLIFF 1.2 and 2, and TMX: translations are put beside their sources."""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from dragoman.documents.elements import Paragraph, mixed, paragraph
from dragoman.documents.markup import Element, Token, decode_xml, encode_xml, tree, with_attribute
from dragoman.documents.segments import Segment
from dragoman.errors import InputError
from dragoman.iso639 import base_code, language_tag

PAIRS = frozenset(["g", "pc", "mrk", "hi"])
"""Elements around text; all others are codes."""

_OPEN_STATES = frozenset(["new", "needs-translation", "initial", ""])


@dataclass(frozen=True)
class _Unit:
    """A source to translate, and the element that gets the translation."""

    source: Paragraph
    around: Element


@dataclass(frozen=True)
class _Place:
    """A source to translate in a unit, and where its translation belongs: in the target, or in a mark of a segment there."""

    source: Paragraph
    unit: Element
    target: Element
    inside: Element


class XliffDocument:
    """An XLIFF file: sources without a translation are translated, and those that have one keep it."""

    def __init__(self, content: bytes, where: str, language: str | None = None) -> None:
        text, self._encoding = decode_xml(content, where)
        self._root, self._language = tree(text), language and language_tag(language)
        files = [one for one in self._root.elements() if re.fullmatch(r"(?:[^:]+:)?xliff", one.name)]
        if not files:
            raise InputError(f"{where} is not an XLIFF file; name it by its format, or say it with --format")
        self._prefix = files[0].name.removesuffix("xliff")
        for one in self._root.elements():
            one.name = one.name.removeprefix(self._prefix)
        self._is_second = (files[0].attribute("version") or "").startswith("2")
        self._name, self._attribute = ("xliff", "trgLang") if self._is_second else ("file", "target-language")
        for there in filter(None, (one.attribute(self._attribute) for one in self._named())):
            if language and base_code(there) != base_code(language):
                raise InputError(
                    f"{where} is for translations into `{there}`, but this translates into `{self._language}`; use a run that "
                    f"translates into `{there}`, or correct `{self._attribute}` in the file"
                )
        self._places = [one for one in self._find() if one.source.inline.segment.text.strip()]
        self.segments: Sequence[Segment] = [replace(one.source.inline.segment, beside=True) for one in self._places]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with translated segments."""
        for place, translated in zip(self._places, translations, strict=True):
            if translated is not None:
                self._add(place, mixed(place.source.inline, translated))
        if self._language and any(one is not None for one in translations):
            for one in self._named():
                if not one.attribute(self._attribute):
                    one.opening = with_attribute(one.opening, self._attribute, self._language)
        return encode_xml(self._root.raw(), self._encoding)

    def _named(self) -> Iterator[Element]:
        """Yield the elements that name the language of translations."""
        return (one for one in self._root.elements() if one.name == self._name)

    def _find(self) -> Iterator[_Place]:
        """Yield what is to be translated."""
        for unit in _translated(self._root):
            if unit.name not in ("trans-unit", "segment"):
                continue
            source = unit.child("source")
            target = unit.child("target") or Element("target", f"<{self._prefix}target>")
            state = (target if unit.name == "trans-unit" else unit).attribute("state") or ""
            if source is None or unit.attribute("approved") == "yes":
                continue
            if state in _OPEN_STATES - {""}:
                target = Element("target", target.opening)
            divided = unit.child("seg-source")
            if divided is not None and _marks(divided) and (_marks(target) or not _has_content(target)):
                yield from _segments(unit, divided, target)
            elif not _has_content(target):
                yield _Place(paragraph(source, PAIRS), unit, target, target)

    def _add(self, place: _Place, content: str) -> None:
        """Put a translation into its place, and its target into the unit."""
        place.inside.opening = _opened(place.inside.opening)
        place.inside.children, place.inside.closing = [Token("text", content)], _closing(place.inside.opening)
        if self._is_second:
            place.unit.opening = with_attribute(place.unit.opening, "state", "translated")
        else:
            place.target.opening = with_attribute(place.target.opening, "state", "translated")
        children = place.unit.children
        old = place.unit.child("target")
        if old is not None:
            children[children.index(old)] = place.target
            return
        at = max(
            n for n, one in enumerate(children) if isinstance(one, Element) and one.name in ("source", "seg-source")
        )
        before = children[at - 1] if at else None
        blank = [before] if isinstance(before, Token) and not before.raw.strip() else []
        children[at + 1 : at + 1] = [*blank, place.target]


def _segments(unit: Element, divided: Element, target: Element) -> Iterator[_Place]:
    """Yield the segments of a source that a program divided, of which the target has none, or an empty one."""
    if not _marks(target):
        opening = _opened(target.opening)
        target = replace(deepcopy(divided), name="target", opening=opening, closing=_closing(opening))
        for one in _marks(target):
            one.children = []
    places = {one.attribute("mid"): one for one in _marks(target)}
    for mark in _marks(divided):
        place = places.get(mark.attribute("mid"))
        if place is not None and not _has_content(place):
            yield _Place(paragraph(mark, PAIRS), unit, target, place)


def _opened(tag: str) -> str:
    """Return an empty element's tag as one that opens it."""
    return re.sub(r"\s*/>$", ">", tag)


def _closing(opening: str) -> str:
    """Return the tag that closes an element.

    >>> _closing('<x:target state="new">')
    '</x:target>'
    """
    return "</" + re.split(r"[\s/>]", opening[1:], maxsplit=1)[0] + ">"


def _marks(element: Element) -> list[Element]:
    """Return the marks of segments in an element."""
    return [one for one in element.elements() if one.name == "mrk" and one.attribute("mtype") == "seg"]


def _has_content(element: Element) -> bool:
    """Tell whether there is an element or text in an element."""
    return any(isinstance(one, Element) or one.raw.strip() for one in element.children)


def _translated(element: Element, *, above: bool = True) -> Iterator[Element]:
    """Yield the elements that may be translated: `translate` holds for all elements inside that do not have it themselves."""
    allowed = {"yes": True, "no": False}.get(element.attribute("translate") or "", above)
    if allowed:
        yield element
    for child in element.children:
        if isinstance(child, Element):
            yield from _translated(child, above=allowed)


class MemoryDocument:
    """A TMX file: units that lack the language of the translation get it."""

    def __init__(self, content: bytes, where: str, languages: tuple[str | None, str | None]) -> None:
        text, self._encoding = decode_xml(content, where)
        self._root, (source, self._language) = tree(text), languages
        if self._language is None:
            raise InputError(
                f"{where} is a TMX file, which names its languages; name that of the translation with --to"
            )
        if all(one.name != "tmx" for one in self._root.elements()):
            raise InputError(f"{where} is not a TMX file; name it by its format, or say it with --format")
        self._units: list[_Unit] = []
        header = next((one for one in self._root.elements() if one.name == "header"), None)
        wanted = source or (header.attribute("srclang") if header else None)
        for unit in (one for one in self._root.elements() if one.name == "tu"):
            variants = [one for one in unit.children if isinstance(one, Element) and one.name == "tuv"]
            known = {language_of(one): one for one in variants}
            chosen = known.get(base_code(wanted or "")) or (variants[0] if variants and not source else None)
            inside = chosen and chosen.child("seg")
            if inside and base_code(self._language) not in known:
                one = paragraph(inside, PAIRS)
                if one.inline.segment.text.strip():
                    self._units.append(_Unit(one, unit))
        self.segments: Sequence[Segment] = [replace(unit.source.inline.segment, beside=True) for unit in self._units]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with translated segments."""
        for unit, translated in zip(self._units, translations, strict=True):
            if translated is not None:
                seg = f"<seg>{mixed(unit.source.inline, translated)}</seg>"
                children = unit.around.children
                last = max(n for n, one in enumerate(children) if isinstance(one, Element) and one.name == "tuv")
                before = children[last - 1] if last else None
                blank = before.raw if isinstance(before, Token) and not before.raw.strip() else ""
                added = Token("text", f'{blank}<tuv xml:lang="{language_tag(self._language or "")}">{seg}</tuv>')
                children.insert(last + 1, added)
        return encode_xml(self._root.raw(), self._encoding)


def language_of(element: Element) -> str:
    """Return the language of a variant, or of a part of a concept, without its region."""
    return base_code(element.attribute("xml:lang") or element.attribute("lang") or "")
