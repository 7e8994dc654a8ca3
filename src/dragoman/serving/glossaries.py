"""Glossaries of the callers: kept in the store of a service, and applied to translations through the links between words."""

import csv
import re
import time
import uuid
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.documents.alignment import Alignment, Edit, Range, align, edited, meeting
from dragoman.documents.glossaries import rows_of
from dragoman.documents.projection import CLOSING, OPENING
from dragoman.serving.interface import ServiceError
from dragoman.serving.store import Store
from dragoman.text.glossary import Glossary as Terms
from dragoman.text.glossary import Words

MOST_BYTES = 1024
"""Maximum size of a term, and of the name of a glossary, as DeepL has it."""

MOST_GLOSSARIES = 1000
"""Maximum number of glossaries of one key, likewise."""


class GlossaryError(ServiceError):
    """Entries that cannot be read."""

    code = "invalid_glossary"

    def __init__(self, detail: str) -> None:
        super().__init__("Invalid glossary entries provided")
        self.detail = detail


class NoGlossaryError(ServiceError):
    """A glossary that this caller does not have."""

    status = 404
    code = "unknown_glossary"

    def __init__(self) -> None:
        super().__init__("Glossary not found")


@dataclass(frozen=True)
class Glossary:
    """A glossary from one language into another."""

    identifier: str
    name: str
    source: str
    target: str
    created: float
    size: int


@dataclass(frozen=True)
class Glossaries:
    """The glossaries in a store; each belongs to the key that made it."""

    store: Store

    def create(self, owner: str, name: str, *, source: str, target: str, terms: Mapping[str, str]) -> Glossary:
        """Keep a new glossary. ServiceError if its owner has too many."""
        if len(self.of(owner)) >= MOST_GLOSSARIES:
            raise ServiceError(f"there are {MOST_GLOSSARIES} glossaries already; delete one first")
        made = Glossary(str(uuid.uuid4()), name, source, target, time.time(), len(terms))
        self.store.run(
            "INSERT INTO dictionaries (glossary, source, target, entries, size) VALUES (?, ?, ?, ?, ?)",
            *(made.identifier, source, target, write_terms(terms), made.size),
        )
        self.store.run(
            "INSERT INTO glossaries (identifier, owner, name, created) VALUES (?, ?, ?, ?)",
            *(made.identifier, owner, name, made.created),
        )
        return made

    def of(self, owner: str) -> list[Glossary]:
        """Return the glossaries of a key, oldest first."""
        rows = self.store.run(
            "SELECT identifier, name, source, target, created, size FROM glossaries JOIN dictionaries "
            "ON glossary = identifier WHERE owner = ? ORDER BY created, identifier",
            owner,
        )
        return [Glossary(*row) for row in rows]

    def find(self, owner: str, identifier: str) -> Glossary:
        """Return a glossary. NoGlossaryError if its owner has none of this name."""
        found = [one for one in self.of(owner) if one.identifier == identifier.lower()]
        if not found:
            raise NoGlossaryError
        return found[0]

    def terms(self, owner: str, identifier: str) -> dict[str, str]:
        """Return the entries of a glossary. NoGlossaryError if its owner has none of this name."""
        rows = self.store.run(
            "SELECT entries FROM glossaries JOIN dictionaries ON glossary = identifier WHERE owner = ? AND identifier = ?",
            *(owner, identifier.lower()),
        )
        if not rows:
            raise NoGlossaryError
        return read_terms(rows[0][0], "tsv")

    def delete(self, owner: str, identifier: str) -> None:
        """Delete a glossary."""
        known = self.find(owner, identifier)
        self.store.run("DELETE FROM glossaries WHERE identifier = ?", known.identifier)
        self.store.run("DELETE FROM dictionaries WHERE glossary = ?", known.identifier)


def read_terms(entries: str, form: str) -> dict[str, str]:
    """Read entries, one on a line, as DeepL's `tsv` or `csv`. GlossaryError says what is wrong with which.

    >>> read_terms("cat\\tmèo\\nred house\\tnhà đỏ\\n", "tsv")
    {'cat': 'mèo', 'red house': 'nhà đỏ'}
    """
    try:
        rows = [row for _, row in rows_of(entries, form)]
    except csv.Error as error:
        raise GlossaryError(f"no valid CSV: {error}") from None
    terms: dict[str, str] = {}
    for number, row in enumerate(rows):
        if len(row) < 2:
            raise GlossaryError(
                f"Key with the index {number} misses {'a second column' if form == 'csv' else 'tab separator'}"
            )
        source, target = row[0].strip(), row[1].strip()
        if not source or not target or re.search(r"[\x00-\x1f\u2028\u2029]", source + target):
            raise GlossaryError(f"Key with the index {number} is empty, or holds a control character")
        if max(len(source.encode()), len(target.encode())) > MOST_BYTES:
            raise GlossaryError(f"Key with the index {number} is longer than {MOST_BYTES} bytes")
        if source in terms:
            raise GlossaryError(f"Key with the index {number} duplicates an earlier one")
        terms[source] = target
    if not terms:
        raise GlossaryError("there are no entries")
    return terms


def write_terms(terms: Mapping[str, str]) -> str:
    """Write entries as tab-separated lines."""
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())


def with_terms(alignment: Alignment, terms: Terms) -> Alignment:
    """Return a translation with terms: one that it lacks replaces the words linked to its source; a source that is a term, all.

    A term whose source has no linked words stays out.

    >>> pair = align("the red house", "căn nhà đỏ", [(0, 0), (1, 2), (2, 1)])
    >>> with_terms(pair, Terms.in_any_case({"house": "tòa nhà", "Red": "đỏ"})).target
    'căn tòa nhà đỏ'
    """
    matches = terms.matches(alignment.source)
    before = len(alignment.source) - len(alignment.source.lstrip())
    after = len(alignment.source.rstrip())
    if [(found.start, found.end) for found in matches] == [(before, after)]:
        whole = matches[0].entry.targets[0].text
        return align(alignment.source, alignment.source[:before] + whole + alignment.source[after:])
    edits: list[Edit] = []
    taken: list[Range] = []
    words, targets = Words.of(alignment.target), alignment.targets_of()
    for found in matches:
        own = (found.start, found.end)
        place = _linked(alignment, own, targets)
        if place is None or meeting(taken, place) or found.entry.used(words):
            continue
        insort(taken, place)
        edits.append(Edit(place[0], place[1], found.entry.targets[0].text, own))
    return edited(alignment, edits) if edits else alignment


def _linked(alignment: Alignment, span: Range, targets: Sequence[Sequence[int]]) -> Range | None:
    """Return the longest run of target words linked to part of the source, without the signs around it."""
    linked = sorted({j for i in meeting(alignment.source_words, span) for j in targets[i]})
    runs: list[list[int]] = []
    for word in linked:
        if runs and word == runs[-1][-1] + 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    if not runs:
        return None
    run = max(runs, key=len)
    start, end = alignment.target_words[run[0]][0], alignment.target_words[run[-1]][1]
    while end - start > 1 and alignment.target[end - 1] in CLOSING:
        end -= 1
    while end - start > 1 and alignment.target[start] in OPENING:
        start += 1
    return start, end
