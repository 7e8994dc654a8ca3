"""Excel files and OpenDocument spreadsheets: which texts of them are cells to translate, and which are kept for formulas."""

import re
from collections.abc import Iterator, Sequence, Set

from dragoman.documents.archives import Entry
from dragoman.documents.elements import Paragraph, paragraph
from dragoman.documents.markup import Element, Token, attribute, decoded
from dragoman.documents.runs_of_text import RunParagraph, run_paragraph

_NAMING = re.compile(r"xl/(?:tables/table\d+|pivotCache/pivotCacheDefinition\d+)\.xml")
"""Parts that name columns by the text of the cells above them."""
_NAMED = re.compile(r"<(?:\w+:)?(?:tableColumn|cacheField)\s[^<>]*>")
_TEXTS = frozenset(["si", "is", "text"])
"""Elements with the text of a cell, which cells share or not, or of a comment."""


def has_text(name: str, inside: bytes) -> bool:
    """Tell whether a part of an Excel file has text: of the sheets, which are large, only those whose cells do not share it."""
    return not name.startswith("xl/worksheets/") or b"inlineStr" in inside


def names_of_columns(parts: Sequence[Entry]) -> frozenset[str]:
    """Return the names of columns by which formulas and pivot tables refer to them: Excel needs their headings as they are."""
    found = set()
    for info, inside in parts:
        if _NAMING.fullmatch(info.filename):
            for opening in _NAMED.findall(inside.decode("utf-8", errors="replace")):
                found.add(_comparable((attribute(opening, "name") or "").replace("_x000a_", "\n")))
    return frozenset(found)


def cell_paragraphs(root: Element, kept: Set[str]) -> list[Paragraph | RunParagraph]:
    """Return the texts of cells and comments in a part of an Excel file, but those that are `kept` as names of columns."""
    return [
        one
        for one in _cells(root)
        if one.inline.segment.text.strip() and _comparable(one.inline.segment.text) not in kept
    ]


def shown_by_formulas(root: Element) -> frozenset[int]:
    """Return the ids of the paragraphs of an OpenDocument spreadsheet that show a number, a date or what a formula yields."""
    cells = (one for one in root.elements() if one.name in ("table:table-cell", "table:covered-table-cell"))
    shown = (
        cell
        for cell in cells
        if cell.attribute("table:formula") or cell.attribute("office:value-type") not in (None, "string")
    )
    return frozenset(id(child) for cell in shown for child in cell.children if isinstance(child, Element))


def _cells(root: Element) -> Iterator[Paragraph | RunParagraph]:
    """Yield the elements with the text of cells and comments."""
    for one in root.elements():
        if one.name.rpartition(":")[2] in _TEXTS and one.closing:
            plain = any(isinstance(part, Token) and decoded(part.raw).strip() for part in one.children)
            yield paragraph(one, frozenset()) if plain else run_paragraph(one)


def _comparable(text: str) -> str:
    """Return a text as it is compared: without spaces and the ends of lines."""
    return "".join(text.split())
