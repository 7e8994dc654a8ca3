"""Read glossaries: TSV and CSV as DeepL has them, and TBX."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.documents.exchange import language_of
from dragoman.documents.markup import Element, decode_xml, decoded, tree
from dragoman.errors import InputError, shorten
from dragoman.iso639 import base_code
from dragoman.regular_files import open_file
from dragoman.text.glossary import Entry, Glossary

LARGEST = 64 << 20
"""Number of bytes beyond which a glossary is refused."""
VARIANT = "|"
"""What stands between translations of which each is fine; the first is preferred."""

_CONTROL = re.compile(r"[\x00-\x1f\u2028\u2029]")
_CONCEPTS = ("termEntry", "conceptEntry")
_LANGUAGES = ("langSet", "langSec")
_STATUSES = ("termNote", "administrativeStatus")
_PREFERRED = "preferredTerm"
_FORBIDDEN = ("deprecatedTerm", "supersededTerm")
"""What the status of a term begins with, in all versions of TBX, where it is not merely admitted."""

Row = tuple[int, list[str]]
"""The number of a line, from 1, and its columns."""


class _Written(NamedTuple):
    """A term of TBX."""

    text: str
    status: str
    """What is said of it; empty if nothing is."""


def read_glossary(path: Path, languages: tuple[str | None, str | None] = (None, None)) -> Glossary:
    """Read a glossary; the suffix says how: .tsv or .txt, .csv, .tbx. InputError names the file and the line at fault.

    A line is a term and its translation, or several with `|` between them; a term alone is to stay as it is. TBX needs the
    `languages` of source and translation, and takes the concepts that have terms in both; preferred translations come first,
    and deprecated ones are left out.
    """
    suffix = path.suffix.lower()
    if suffix not in (".tsv", ".txt", ".csv", ".tbx"):
        raise InputError(f"{path} is not named as a glossary; give a .tsv (or .txt), .csv or .tbx file")
    try:
        with open_file(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a glossary that exists") from None
    if len(content) > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 20} MiB; divide it, and give each part")
    if suffix == ".tbx":
        return Glossary(tuple(_concepts(decode_xml(content, str(path))[0], str(path), languages)))
    try:
        text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; convert it first, for example with iconv") from None
    try:
        rows = list(rows_of(text, "csv" if suffix == ".csv" else "tsv"))
    except csv.Error as error:
        raise InputError(f"{path} is not valid CSV ({error}); save it again with the program it is from") from None
    return Glossary(tuple(_entries(rows, str(path))))


def rows_of(text: str, form: str) -> Iterator[Row]:
    """Yield the first two columns of each line that is not blank, of `tsv` or `csv`. csv.Error for what is no CSV.

    >>> list(rows_of("cat\\tmèo\\n\\nDragoman\\n", "tsv"))
    [(1, ['cat', 'mèo']), (3, ['Dragoman'])]
    """
    if form == "csv":
        yield from _csv_rows(re.split(r"\r\n|\r|\n", text))
    else:
        lines = enumerate(re.split(r"\r\n|\r|\n", text), 1)
        yield from ((number, line.split("\t", 1)) for number, line in lines if line.strip())


def _csv_rows(lines: Sequence[str]) -> list[Row]:
    """Return the first two columns of each row, divided by the sign that finds more translations; csv.Error if it is no CSV.

    Spreadsheets write semicolons in many countries.
    """
    readings: list[list[Row]] = []
    faults: dict[str, csv.Error] = {}
    for sign in ",;":
        reader = csv.reader(lines, strict=True, delimiter=sign)
        try:
            readings.append([(reader.line_num, row[:2]) for row in reader if row])
        except csv.Error as error:
            faults[sign] = error
    best = max(readings, key=_pairs, default=[])
    if "," in faults and not _pairs(best):
        raise faults[","]
    return best


def _pairs(rows: Sequence[Row]) -> int:
    """Return how many rows have a translation."""
    return sum(len(row) > 1 for _, row in rows)


def _entries(rows: Sequence[Row], where: str) -> Iterator[Entry]:
    """Yield the entry of each row. InputError names the first that is none."""
    lines: dict[str, int] = {}
    for number, row in rows:
        source, target = row[0].strip(), row[-1].strip()
        targets = [source] if target == source else [one.strip() for one in target.split(VARIANT)]
        if not source or not all(targets):
            raise InputError(
                f"{where}, line {number} has an empty term; write a term, a tab and its translation, or a term alone to keep it"
            )
        if _CONTROL.search(source + target):
            raise InputError(f"{where}, line {number} has a control character, such as a second tab; remove it")
        if source in lines:
            raise InputError(
                f"{where}, line {number} has the term of line {lines[source]} again, `{shorten(source)}`; write all its "
                f"translations in one line, with {VARIANT} between them"
            )
        lines[source] = number
        yield Entry.of(source, targets)
    if not rows:
        raise InputError(f"{where} has no terms; write in each line a term, a tab and its translation")


def _concepts(text: str, where: str, languages: tuple[str | None, str | None]) -> Iterator[Entry]:
    """Yield an entry for each source term of each concept. InputError if there is none in both languages."""
    if None in languages:
        raise InputError(
            f"{where} has terms in several languages, and this run must be told which to read; name them with --from and --to"
        )
    known: dict[str, None] = {}
    for concept in tree(text).elements():
        if concept.name in _CONCEPTS:
            sources = _terms(concept, str(languages[0]))
            targets = [one for one in _terms(concept, str(languages[1])) if not one.status.startswith(_FORBIDDEN)]
            targets.sort(key=lambda one: not one.status.startswith(_PREFERRED))
            for source in (one.text for one in sources):
                if targets and source not in known:
                    known[source] = None
                    yield Entry.of(source, [one.text for one in targets])
    if not known:
        raise InputError(
            f"{where} has no concept with terms in `{languages[0]}` and `{languages[1]}`; give another glossary"
        )


def _terms(concept: Element, language: str) -> list[_Written]:
    """Return the terms of a concept in a language, whatever its region, with their status."""
    parts = [one for one in concept.elements() if one.name in _LANGUAGES and language_of(one) == base_code(language)]
    sections = [one for part in parts for one in part.children if isinstance(one, Element)]
    return [_Written(text, _status(one)) for one in sections for text in _named(one, "term") if text]


def _status(section: Element) -> str:
    """Return what a section says of its term, such as `deprecatedTerm-admn-sts`; nothing if it says nothing."""
    texts = (text for name in _STATUSES for text in _named(section, name))
    return next((text for text in texts if text.startswith((_PREFERRED, *_FORBIDDEN))), "")


def _named(element: Element, name: str) -> list[str]:
    """Return the text of each element of a name, whatever its prefix."""
    return [_text(one) for one in element.elements() if one.name.rpartition(":")[2] == name]


def _text(element: Element) -> str:
    """Return the text of an element and all inside it."""
    parts = (_text(part) if isinstance(part, Element) else decoded(part.raw) for part in element.children)
    return " ".join("".join(parts).split())
