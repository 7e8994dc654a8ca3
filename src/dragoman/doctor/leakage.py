"""Sentences of dev and test that are also in the training corpora, exactly or nearly."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.data.findings import EXAMPLES, Example, Finding
from dragoman.doctor.characters import scrambled
from dragoman.doctor.check import Check, Patient, line_of
from dragoman.doctor.chunk import Chunk, Codes, Rows, Side
from dragoman.doctor.hashes import Hashes, mixed

GRAM = 13
"""Letters and digits of an n-gram."""
CONTAINED = 0.8
"""A sentence is nearly in another one that has so many of its n-grams."""
FEWEST = 5
"""Least number of n-grams of a sentence that is looked for."""
OWNERS = 20
"""N-grams of more sentences than this are too common to tell anything."""
MOST = 20_000
"""So many pairs of each dev and test corpus are looked for."""
LONG = 6
"""Sentences of so many words are not repeated by chance."""
_SIEVE = 22
"""Bits of a hash that choose its place in the sieve that most other hashes fall through."""


Grams = tuple[Hashes, Rows]
"""The hash of each n-gram, and the line that it is in."""


class Reference:
    """One side of a dev or test corpus, and which of its lines were found in training corpora."""

    def __init__(self, patient: Patient, number: int) -> None:
        self.patient = patient
        self.number = number
        self.language = patient.languages[number] or str(number)
        self.lines: list[int | None] = []
        self.texts: list[str] = []

    def learn(self, chunk: Chunk) -> None:
        """Remember the lines of a chunk."""
        if len(self.lines) < MOST:
            self.lines += [line_of(pair.place) for pair in chunk.pairs]
            self.texts += chunk.sides[self.number].lines

    def index(self) -> "Index":
        """Return what training lines are compared with."""
        return Index(Side(self.texts))


class Index:
    """The lines of a reference, to be found by their letters."""

    def __init__(self, side: Side) -> None:
        self.long = side.spoken >= LONG
        self._hashes, self._numbers = np.unique(side.folded.hashes, return_inverse=True)
        self._filled = side.folded.lengths > 0
        self._exact = np.zeros(len(self._hashes), bool)
        self._long_hashes = np.isin(np.arange(len(self._hashes)), self._numbers[self.long])
        hashes, rows = grams(side.folded)
        self._grams, numbers, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        telling = counts[numbers] <= OWNERS
        order = np.argsort(numbers[telling], kind="stable")
        self._owners = rows[telling][order]
        counts = np.where(counts <= OWNERS, counts, 0)
        self._first = np.cumsum(counts) - counts
        self._counts = counts
        self._sizes = np.bincount(self._owners, minlength=len(side))
        self._sieve = np.zeros(1 << _SIEVE, bool)
        self._sieve[self._grams >> np.uint64(64 - _SIEVE)] = True
        self._near = np.zeros(len(side), bool)

    @property
    def exact(self) -> Rows:
        """Lines that were found exactly, but for case, digits, punctuation and spaces."""
        return np.flatnonzero(self._exact[self._numbers] & self._filled)

    @property
    def near(self) -> Rows:
        """Lines that were found nearly, and not exactly."""
        return np.flatnonzero(self._near & ~self._exact[self._numbers])

    def find(self, side: Side, inside: Grams) -> Rows:
        """Look for all lines in those of a training corpus, which have these n-grams; return the rows that hold a long one."""
        places = np.searchsorted(self._hashes, side.folded.hashes)
        same = self._hashes[np.minimum(places, len(self._hashes) - 1)] == side.folded.hashes
        same &= side.folded.lengths > 0
        self._exact[places[same]] = True
        same[same] = self._long_hashes[places[same]]
        return np.union1d(np.flatnonzero(same), self._find_near(*inside))

    def _find_near(self, hashes: Hashes, rows: Rows) -> Rows:
        """Return the rows that contain most n-grams of a long line."""
        passed = self._sieve[hashes >> np.uint64(64 - _SIEVE)]
        hashes, rows = hashes[passed], rows[passed]
        places = np.minimum(np.searchsorted(self._grams, hashes), max(len(self._grams) - 1, 0))
        if not len(places):
            return np.zeros(0, np.int64)
        known = (self._grams[places] == hashes) & (self._counts[places] > 0)
        entries = np.unique(rows[known] * len(self._grams) + places[known])
        rows, places = entries // len(self._grams), entries % len(self._grams)
        counts = self._counts[places]
        at = np.repeat(self._first[places] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        found, shared = np.unique(np.repeat(rows, counts) * len(self._sizes) + self._owners[at], return_counts=True)
        rows, owners = found // len(self._sizes), found % len(self._sizes)
        sizes = self._sizes[owners]
        near = (shared >= CONTAINED * sizes) & (sizes >= FEWEST)
        self._near[owners[near]] = True
        return np.unique(rows[near & self.long[owners]])


class References:
    """All sides of the dev and test corpora, by language."""

    def __init__(self, references: list[Reference]) -> None:
        self._indexed = [(reference, reference.index()) for reference in references if reference.lines]

    def find(self, side: Side, language: str) -> Rows:
        """Look for the lines of a language; return the rows that hold a long one."""
        indexes = [index for reference, index in self._indexed if reference.language == language]
        inside = grams(side.folded) if indexes else None
        found = [index.find(side, inside) for index in indexes if inside is not None]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def findings(self) -> Iterator[Finding]:
        """Yield what was found, after the last training corpus."""
        for reference, index in self._indexed:
            for check, rows in ((Leakage, index.exact), (NearLeakage, index.near)):
                if len(rows):
                    yield _finding(check, reference, rows, long=index.long)


class Leakage(Check):
    """Sentences of dev or test that are in a training corpus, whatever their case, digits and punctuation."""

    name = "leakage"
    severity = "warning"
    serious = 0.01
    what = "is also in the training data"
    advice = "remove these sentences from training, or scores on this corpus are too high"
    removes = True

    def __init__(self, patient: Patient, references: References) -> None:
        super().__init__(patient)
        self.references = references

    def see(self, chunk: Chunk) -> None:
        """Look for references in both sides; flag what holds one that is too long to be there by chance."""
        for number, side in enumerate(chunk.sides[: 1 if self.patient.one_language else 2]):
            rows = self.references.find(side, self.patient.languages[number] or str(number))
            if len(rows):
                chunk.flag(self.name, rows)

    def findings(self) -> Iterator[Finding]:
        """Yield nothing: `References.findings` does for all training corpora together."""
        return iter(())


class NearLeakage(Leakage):
    """Sentences of dev or test of which a training sentence contains four fifths, by 13-grams of letters."""

    name = "near-leakage"
    serious = 0.02
    what = "is almost in the training data"
    removes = False


def _finding(check: type[Leakage], reference: Reference, rows: Rows, *, long: NDArray[np.bool_]) -> Finding:
    """Return what was found of one reference; it is a warning if enough of it is long."""
    many = int(long[rows].sum())
    rows = rows[np.argsort(~long[rows], kind="stable")]
    words = f"{check.what}{reference.patient.side(reference.number)} ({many:,} with {LONG} words or more)"
    return Finding(
        check.name,
        "warning" if many >= max(check.serious * len(long), 1) else "note",
        words,
        check.advice,
        reference.patient.files[reference.number],
        reference.lines[int(rows[0])],
        len(rows),
        len(long),
        tuple(Example(reference.lines[row], (reference.texts[row],)) for row in rows[:EXAMPLES].tolist()),
    )


def grams(codes: Codes) -> Grams:
    """Return the hash of each n-gram inside a line, and its line."""
    values = scrambled()[codes.units]
    if len(values) < GRAM:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    with np.errstate(over="ignore"):
        factor = np.uint64(0x9E3779B97F4A7C15)
        two = values[:-1] * factor + values[1:]
        four = two[:-2] * factor**2 + two[2:]
        eight = four[:-4] * factor**4 + four[4:]
        twelve = eight[:-4] * factor**4 + four[8:]
        all_grams = twelve[:-1] * factor + values[12:]
    counts = np.maximum(codes.lengths - GRAM + 1, 0)
    starts = np.repeat(codes.starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return mixed(all_grams[starts]), np.repeat(np.arange(len(counts)), counts)
