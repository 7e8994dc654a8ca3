"""Word, PowerPoint, Excel and OpenDocument files: the parts that hold text are translated, all others are copied."""

import re
from collections.abc import Callable, Sequence, Set

from dragoman.documents.archives import entries, zipped_again
from dragoman.documents.elements import Paragraph, paragraph, replace_all
from dragoman.documents.markup import Element, decode_xml, encode_xml, tree
from dragoman.documents.runs_of_text import RunParagraph, run_paragraph
from dragoman.documents.segments import Segment
from dragoman.documents.workbooks import cell_paragraphs, has_text, names_of_columns, shown_by_formulas
from dragoman.errors import InputError

_DRAWN = r"charts/chart\d+|diagrams/(?:data|drawing)\d+"
"""Charts, and SmartArt: its text and the picture that was drawn of it."""
_PARTS = {
    "docx": rf"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments|{_DRAWN})\.xml",
    "pptx": rf"ppt/(?:slides/[^/]+|notesSlides/[^/]+|{_DRAWN})\.xml",
    "xlsx": rf"xl/(?:sharedStrings|worksheets/[^/]+|comments\d*|(?:threadedComments|drawings|comments)/[^/]+|{_DRAWN})\.xml",
    **dict.fromkeys(("odt", "odp", "ods"), r"(?:content|styles)\.xml"),
}
_SPACE = re.compile(r"""\sxmlns:?([\w.-]*)\s*=\s*["']([^"']*)["']""")
_USUAL = {"w": "wordprocessingml/2006/main", "a": "drawingml/2006/main", "text": ":xmlns:text:1.0"}
"""Prefixes of paragraphs, by the ends of what they stand for."""
_PAIRS = frozenset(["text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"])
_LINE_BREAKS = frozenset(["text:line-break", "text:tab"])


class OfficeDocument:
    """A document that is a zip file of XML parts."""

    def __init__(self, content: bytes, kind: str, where: str, *, largest: int | None = None) -> None:
        names = re.compile(_PARTS[kind])
        self._entries = entries(content, where, names, largest=largest)
        read = self._reader(kind)
        self._parts: list[tuple[int, Element, str, Sequence[Paragraph | RunParagraph]]] = []
        for number, (info, inside) in enumerate(self._entries):
            if names.fullmatch(info.filename) and (kind != "xlsx" or has_text(info.filename, inside)):
                text, encoding = decode_xml(inside, f"{where}: {info.filename}")
                root = tree(text)
                _require_usual_prefixes(root, where)
                self._parts.append((number, root, encoding, read(root)))
        if not self._parts:
            raise InputError(
                f"{where} has no text of a .{kind} file in it; name it by its format, or say it with --format"
            )
        self.segments: Sequence[Segment] = [
            one.inline.segment for _, _, _, paragraphs in self._parts for one in paragraphs
        ]

    def _reader(self, kind: str) -> Callable[[Element], Sequence[Paragraph | RunParagraph]]:
        """Return what finds the paragraphs of a part."""
        if kind == "xlsx":
            kept = names_of_columns(self._entries)
            return lambda root: [*_run_paragraphs(root), *cell_paragraphs(root, kept)]
        if kind == "ods":
            return lambda root: _odf_paragraphs(root, shown_by_formulas(root))
        return _odf_paragraphs if kind in ("odt", "odp") else _run_paragraphs

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with translated segments; parts without any are those of the original, byte for byte."""
        contents = [inside for _, inside in self._entries]
        rest = list(translations)
        for number, root, encoding, paragraphs in self._parts:
            own, rest = rest[: len(paragraphs)], rest[len(paragraphs) :]
            if replace_all(paragraphs, own):
                contents[number] = encode_xml(root.raw(), encoding)
        return zipped_again(self._entries, contents)


def _require_usual_prefixes(root: Element, where: str) -> None:
    """Raise InputError for a part whose paragraphs have other names than those that office programs write."""
    opening = next(one.opening for one in root.children if isinstance(one, Element))
    declared = dict(_SPACE.findall(opening))
    for usual, end in _USUAL.items():
        others = [prefix for prefix, space in declared.items() if space.endswith(end)]
        if others and usual not in others:
            found = f"{others[0]}:p".removeprefix(":")
            raise InputError(
                f"{where} calls its paragraphs `{found}`, and not `{usual}:p` as usual; save it again with an office program"
            )


def _run_paragraphs(root: Element) -> list[RunParagraph]:
    """Return the paragraphs of a part of a Word or PowerPoint file that have text."""
    found = [run_paragraph(one) for one in root.elements() if re.fullmatch(r"(?:w|a):p", one.name) and one.closing]
    return [one for one in found if one.inline.segment.text.strip()]


def _odf_paragraphs(root: Element, but: Set[int] = frozenset()) -> list[Paragraph]:
    """Return the paragraphs of a part of an OpenDocument file that have text, but not those that were deleted from it.

    Those with an id in `but` are left out too.
    """
    own = (one for one in root.elements(but="text:tracked-changes") if one.name in ("text:p", "text:h"))
    found = [paragraph(one, _PAIRS, _LINE_BREAKS) for one in own if one.closing and id(one) not in but]
    return [one for one in found if one.inline.segment.text.strip()]
