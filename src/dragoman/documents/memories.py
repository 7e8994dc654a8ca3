"""Translation memories: sentences with their translations, read from TMX or kept in a SQLite file."""

import sqlite3
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int32, Int64

from dragoman.documents.reading import content_of
from dragoman.errors import InputError
from dragoman.iso639 import base_code
from dragoman.tmx import read_units

NEAR = 0.75
"""Least similarity of a sentence that is offered: twice the characters in common, divided by those of both."""

OFFERED = 3
"""Number of similar sentences that are offered."""

_COMPARED = 20
"""Number of sentences with most trigrams in common that are compared character by character."""

_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_BUSY_SECONDS = 10.0
_TABLE = """CREATE TABLE IF NOT EXISTS translations (
    source_language TEXT NOT NULL, target_language TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    confirmed INTEGER NOT NULL, PRIMARY KEY (source_language, target_language, source)) WITHOUT ROWID"""


@dataclass(frozen=True)
class Near:
    """A sentence of a memory that is similar to another one, with its translation."""

    source: str
    translation: str
    similarity: float


@dataclass(frozen=True)
class Recalled:
    """What a memory has of a sentence: its translation, or similar sentences."""

    is_exact: bool
    near: tuple[Near, ...] = ()
    prefix: str = ""
    """The words of the nearest translation with which the sentence's own was made to begin."""


class Memory:
    """The translations from one language into another in a SQLite database.

    White space, regions (`en-US`) and whether accents are signs of their own do not count.
    """

    def __init__(self, place: str, languages: tuple[str, str], *, keeps: bool) -> None:
        self._place, self._languages = place, (base_code(languages[0]), base_code(languages[1]))
        self.keeps = keeps
        """Whether what is translated is to be kept in it."""
        try:
            self._database = sqlite3.connect(place, timeout=_BUSY_SECONDS)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        self._run("PRAGMA trusted_schema = OFF")
        self._run(_TABLE)

    def exact(self, sentence: str, *, confirmed: bool = False) -> str | None:
        """Return the translation of a sentence, with `confirmed` only one not by a model; None if it is not there."""
        rows = self._run(
            "SELECT CAST(target AS TEXT) FROM translations WHERE source_language = ? AND target_language = ? AND source = ? "
            "AND confirmed >= ?",
            *(*self._languages, _composed(sentence), int(confirmed)),
        )
        return rows[0][0] if rows else None

    def near(self, sentence: str) -> list[Near]:
        """Return the sentences most similar to one, most similar first, of those that were there when this was first called."""
        wanted = _composed(sentence)
        own = _trigrams(wanted)
        places = [self._index[trigram] for trigram in own if trigram in self._index]
        if not places:
            return []
        shared = np.bincount(np.concatenate(places), minlength=len(self._sizes))
        common = 2 * shared / (len(own) + self._sizes)
        least = np.partition(common, -_COMPARED)[-_COMPARED] if len(common) > _COMPARED else 0
        likely = np.flatnonzero((common >= least) & (shared > 0))
        best: list[int] = likely[np.argsort(-common[likely], kind="stable")][:_COMPARED].tolist()
        matcher = SequenceMatcher(None, "", wanted, autojunk=False)
        found = [Near(*self._pairs[n], _similarity(matcher, self._pairs[n][0])) for n in best]
        return sorted((one for one in found if one.similarity >= NEAR), key=lambda one: (-one.similarity, one.source))[
            :OFFERED
        ]

    def keep(self, pairs: Iterable[tuple[str, str]], *, confirmed: bool) -> None:
        """Put pairs into the memory. A translation by a model does not take the place of one that was `confirmed`."""
        rows = [
            (*self._languages, _composed(source), one_line(target), int(confirmed))
            for source, target in pairs
            if source.strip() and target.strip()
        ]
        try:
            with self._database:
                self._database.executemany(
                    "INSERT INTO translations VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET target = excluded.target, "
                    "confirmed = excluded.confirmed WHERE excluded.confirmed >= translations.confirmed",
                    rows,
                )
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def __len__(self) -> int:
        return self._run(
            "SELECT COUNT(*) FROM translations WHERE source_language = ? AND target_language = ?", *self._languages
        )[0][0]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        """All sentences with their translations."""
        return self._run(
            "SELECT CAST(source AS TEXT), CAST(target AS TEXT) FROM translations "
            "WHERE source_language = ? AND target_language = ? ORDER BY source",
            *self._languages,
        )

    @cached_property
    def _sizes(self) -> Int64[np.ndarray, " sentences"]:
        """The number of trigrams of each sentence."""
        return np.array([len(_trigrams(source)) for source, _ in self._pairs], np.int64)

    @cached_property
    def _index(self) -> dict[str, Int32[np.ndarray, " _"]]:
        """The numbers of the sentences with each trigram."""
        found: dict[str, array[int]] = {}
        for number, (source, _) in enumerate(self._pairs):
            for trigram in _trigrams(source):
                found.setdefault(trigram, array("i")).append(number)
        return {trigram: np.frombuffer(numbers, np.int32) for trigram, numbers in found.items()}

    def _run(self, statement: str, *values: str | int) -> list[Any]:
        """Run a statement and return its rows."""
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: sqlite3.Error) -> InputError:
        """Return what is said of a file that cannot be used."""
        is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        advice = "make room, or give another .sqlite file" if is_full else "give another .sqlite file"
        return InputError(f"{self._place} cannot be used as a translation memory ({error}); {advice}")


def open_memory(path: Path, languages: tuple[str, str]) -> Memory:
    """Open a memory: a TMX file, which is only read, or a SQLite file, which is made if it is not there."""
    if path.suffix.lower() in _SUFFIXES:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is no file; give a .sqlite file as the translation memory")
        return Memory(str(path), languages, keeps=True)
    if not path.name.lower().endswith((".tmx", ".tmx.gz")):
        raise InputError(
            f"{path} is no translation memory; give a .tmx file, or a .sqlite file to keep translations in"
        )
    if not path.is_file():
        raise InputError(f"there is no translation memory {path}; give a .tmx file that exists, or a .sqlite file")
    memory = Memory(":memory:", languages, keeps=False)
    memory.keep(read_tmx(path, languages), confirmed=True)
    return memory


def read_tmx(path: Path, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the translations between two languages in a TMX file, without tags, those that were changed last at the end.

    InputError if there are none.
    """
    try:
        units = read_units([content_of(path)])
        dated = [(unit.changed(languages[1]), pair) for unit in units if (pair := unit.pair(*languages)) is not None]
    except ValueError as error:
        raise InputError(f"{path} {error}") from None
    found = [pair for _, pair in sorted(dated, key=itemgetter(0))]
    if not found:
        source, target = base_code(languages[0]), base_code(languages[1])
        raise InputError(f"{path} has no translations from `{source}` into `{target}`; give a TMX file that does")
    return found


def read_table(lines: Sequence[str], where: str) -> list[tuple[str, str]]:
    """Return the pairs of lines that are each a sentence, a tab and its translation. InputError names one that is not.

    >>> read_table(["Yes.\\tVâng."], "a.tsv")
    [('Yes.', 'Vâng.')]
    """
    found = []
    for number, line in enumerate(lines, 1):
        source, tab, target = line.partition("\t")
        if not (tab and source.strip() and target.strip()) or "\t" in target:
            raise InputError(f"line {number} of {where} is not a sentence, a tab and its translation; mend it")
        found.append((source, target))
    return found


def beginning(sentence: str, near: Near, links: Iterable[tuple[int, int]]) -> str:
    """Return the words of a remembered translation with which that of a similar sentence may begin; nothing if there are none.

    These are its first words, as far as the links (source word, target word) join each to words with which both sentences begin,
    without the last of these: how it is translated often depends on the next one, which is another.

    >>> near = Near("The old man sleeps.", "Le vieil homme dort.", 0.75)
    >>> beginning("The old man eats.", near, [(0, 0), (1, 1), (2, 2), (3, 3)])
    'Le vieil'
    >>> beginning("The old woman sleeps.", near, [(2, 0), (1, 1), (2, 2), (3, 3)])
    ''
    """
    pairs = zip(_composed(sentence).split(), near.source.split(), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) - 1
    sources: dict[int, set[int]] = {}
    for here, there in links:
        sources.setdefault(there, set()).add(here)
    words = near.translation.split()
    count = next((n for n in range(len(words)) if n not in sources or max(sources[n]) >= common), len(words))
    return " ".join(words[:count])


def one_line(text: str) -> str:
    """Return text in which all white space is one space.

    >>> one_line(" a\\n b ")
    'a b'
    """
    return " ".join(text.split())


def _composed(text: str) -> str:
    """Return a sentence as it is looked up: on one line, with letters and their accents as one sign where there is one."""
    return unicodedata.normalize("NFC", one_line(text))


def _trigrams(text: str) -> frozenset[str]:
    """Return all three characters in a row."""
    padded = f"  {text.casefold()} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def _similarity(matcher: SequenceMatcher[str], text: str) -> float:
    """Return how similar a text is to that of a matcher, from 0 to 1; 0 also where a quick look says that it is not near."""
    matcher.set_seq1(text)
    near = matcher.real_quick_ratio() >= NEAR and matcher.quick_ratio() >= NEAR
    return round(matcher.ratio(), 4) if near else 0.0
