"""CSV and TSV: the cells of one column are the segments, and all others stay as they are."""

import re
from collections.abc import Sequence

from dragoman.documents.plain import literal, rewritten
from dragoman.documents.segments import Segment
from dragoman.errors import InputError, shorten

_FIRST = re.compile(r'(?:"(?:[^"]|"")*"|[^"\n]|")*')
"""The first row of a table, in which quoted cells may have several lines."""
_SEPARATOR = re.compile(r"sep=([^\r\n])(?:\r\n|\r|\n)")
"""A line before the first row that tells Excel what separates cells."""


class TableDocument:
    """A table as text. Its first row names the columns if `column` is a name; a number counts from 1, and all rows are text."""

    def __init__(self, text: str, column: str | None, *, delimiter: str | None = None, where: str = "table") -> None:
        if column is None:
            raise InputError(
                f"{where} is a table; name the column to translate with --column, by its name or its number"
            )
        separator = _SEPARATOR.match(text)
        self._before = separator[0] if separator else ""
        text = text.removeprefix(self._before)
        first = re.sub(r'"(?:[^"]|"")*"', "", _FIRST.match(text)[0])  # type: ignore[index]  # it matches any text
        self._delimiter = separator[1] if separator else delimiter or max(",;\t|", key=first.count)
        self._cells, rows = _cells(text, self._delimiter)
        names = [_value(self._cells[cell], self._delimiter) for cell in rows[0]] if rows else []
        if column.isdecimal() and not (column in names and int(column) > len(names)):
            place, rest = int(column) - 1, rows
        elif names.count(column) == 1:
            place, rest = names.index(column), rows[1:]
        else:
            raise InputError(_not_one(column, names, where))
        if rows and not 0 <= place < len(rows[0]):
            raise InputError(f"{where} has {len(rows[0])} columns, but column {column} was named; columns count from 1")
        chosen = [row[place] for row in rest if place < len(row)]
        values = {cell: _value(self._cells[cell], self._delimiter) for cell in chosen}
        self._inlines = {cell: literal(value) for cell, value in values.items() if value.strip()}
        self.segments: Sequence[Segment] = [one.segment for one in self._inlines.values()]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the document with translated segments."""
        out = list(self._cells)
        for (cell, inline), translated in zip(self._inlines.items(), translations, strict=True):
            if translated is not None:
                out[cell] = _quoted(rewritten(inline, translated), self._delimiter, was=out[cell])
        return self._before + "".join(out)


def _not_one(column: str, names: Sequence[str], where: str) -> str:
    """Return what is said where a name stands for no column, or for several."""
    places = [str(number) for number, name in enumerate(names, 1) if name == column]
    if places:
        return (
            f"{where} has {len(places)} columns `{shorten(column)}`; give the number of one: {', '.join(places[:10])}"
        )
    shown = ", ".join(f"`{shorten(name, 20)}`" for name in names[:10])
    advice = f"its first row has {shown}" if shown else "it is empty: give a table with a row of names"
    return f"{where} has no column `{shorten(column)}`; {advice}"


def _cells(text: str, delimiter: str) -> tuple[list[str], list[list[int]]]:
    """Return a table as cells and what separates them, and the numbers of the cells of each row."""
    inside = r'[^"\t]' if delimiter == "\t" else r'[^"]'  # where tabs separate, quotes may also be text
    pattern = re.compile(
        rf"(\"(?:{inside}|\"\")*\"|[^{re.escape(delimiter)}\r\n]*)({re.escape(delimiter)}|\r\n|\r|\n|\Z)"
    )
    parts: list[str] = []
    rows: list[list[int]] = [[]]
    for found in pattern.finditer(text):
        if found.start() == len(text) and not rows[-1]:
            break
        rows[-1].append(len(parts))
        parts += [found[1], found[2]]
        if found[2] != delimiter:
            rows.append([])
    return parts, [row for row in rows if row]


def _value(cell: str, delimiter: str) -> str:
    """Return what a cell says."""
    if _is_quoted(cell, delimiter):
        return cell[1:-1].replace('""', '"')
    return cell


def _quoted(value: str, delimiter: str, *, was: str) -> str:
    """Return a value as a cell, in quotes if it needs them or the cell had them."""
    if delimiter == "\t" and not _is_quoted(was, delimiter):
        return re.sub(r"[\t\r\n]", " ", value)
    if was.startswith('"') or any(one in value for one in (delimiter, '"', "\r", "\n")):
        return '"' + value.replace('"', '""') + '"'
    return value


def _is_quoted(cell: str, delimiter: str) -> bool:
    """Tell whether a cell is in quotes, which with tabs are text unless the cell needs them."""
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return quoted and (delimiter != "\t" or re.search(r'[\r\n]|""', cell[1:-1]) is not None)
