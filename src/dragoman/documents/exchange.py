"""XLIFF 1.2 and 2, and TMX: translations are put beside their sources."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.elements import Paragraph, mixed, paragraph
from dragoman.documents.markup import Element, Token, decode_xml, encode_xml, tree, with_attribute
from dragoman.documents.segments import Segment
from dragoman.errors import InputError

PAIRS = frozenset(["g", "pc", "mrk", "hi"])
"""Elements around text; all others are codes."""

_OPEN_STATES = frozenset(["new", "needs-translation", "initial", ""])


@dataclass(frozen=True)
class _Unit:
    """A source to translate, and the element that gets the translation."""

    source: Paragraph
    around: Element


class XliffDocument:
    """An XLIFF file: sources without a translation are translated, and those that have one keep it."""

    def __init__(self, content: bytes, where: str, language: str | None = None) -> None:
        text, self._encoding = decode_xml(content, where)
        self._root, self._language = tree(text), language
        files = [one for one in self._root.elements() if one.name == "xliff"]
        if not files:
            raise InputError(f"{where} is not an XLIFF file; give its format with --format")
        self._is_second = (files[0].attribute("version") or "").startswith("2")
        self._units = list(self._find())
        self.segments: Sequence[Segment] = [replace(unit.source.inline.segment, beside=True) for unit in self._units]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with translated segments."""
        for unit, translated in zip(self._units, translations, strict=True):
            if translated is not None:
                self._add(unit, mixed(unit.source.inline, translated))
        if self._language and any(one is not None for one in translations):
            name, attribute = ("xliff", "trgLang") if self._is_second else ("file", "target-language")
            for one in self._root.elements():
                if one.name == name and not one.attribute(attribute):
                    one.opening = with_attribute(one.opening, attribute, self._language)
        return encode_xml(self._root.raw(), self._encoding)

    def _find(self) -> list[_Unit]:
        """Return what is to be translated."""
        found = []
        for unit in _translated(self._root):
            if unit.name not in ("trans-unit", "segment"):
                continue
            source, target = unit.child("source"), unit.child("target")
            state = (target if unit.name == "trans-unit" and target else unit).attribute("state") or ""
            done = target is not None and any(isinstance(one, Element) or one.raw.strip() for one in target.children)
            if source is None or (done and state not in _OPEN_STATES - {""}) or unit.attribute("approved") == "yes":
                continue
            one = paragraph(source, PAIRS)
            if one.inline.segment.text.strip():
                found.append(_Unit(one, unit))
        return found

    def _add(self, unit: _Unit, content: str) -> None:
        """Put a translation into a unit."""
        target, place = unit.around.child("target"), unit.around.children.index(unit.source.element)
        prefix = "<target" if self._is_second else '<target state="translated"'
        if target is None:
            after = unit.around.child("seg-source")
            place = place if after is None else unit.around.children.index(after)
            before = unit.around.children[place - 1] if place else None
            blank = before.raw if isinstance(before, Token) and not before.raw.strip() else ""
            unit.around.children.insert(place + 1, Token("text", f"{blank}{prefix}>{content}</target>"))
        else:
            opening = re.sub(r"\s*/>$", ">", target.opening)
            target.opening = opening if self._is_second else with_attribute(opening, "state", "translated")
            target.children, target.closing = [Token("text", content)], "</target>"
        if self._is_second:
            unit.around.opening = with_attribute(unit.around.opening, "state", "translated")


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
        self._units: list[_Unit] = []
        header = next((one for one in self._root.elements() if one.name == "header"), None)
        wanted = source or (header.attribute("srclang") if header else None)
        for unit in (one for one in self._root.elements() if one.name == "tu"):
            variants = [one for one in unit.children if isinstance(one, Element) and one.name == "tuv"]
            known = {language_of(one): one for one in variants}
            chosen = known.get(short(wanted or "")) or (variants[0] if variants and not source else None)
            inside = chosen and chosen.child("seg")
            if inside and short(self._language) not in known:
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
                added = Token("text", f'{blank}<tuv xml:lang="{self._language}">{seg}</tuv>')
                children.insert(last + 1, added)
        return encode_xml(self._root.raw(), self._encoding)


def language_of(element: Element) -> str:
    """Return the language of a variant, or of a part of a concept, without its region."""
    return short(element.attribute("xml:lang") or element.attribute("lang") or "")


def short(language: str) -> str:
    """Return a language without its region.

    >>> short("en-US")
    'en'
    """
    return re.split(r"[-_]", language)[0].lower()
