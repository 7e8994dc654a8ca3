"""Pairs that were seen before, and sources with several translations: each into the same language, as in training."""

from collections.abc import Iterator
from dataclasses import replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dragoman.data.findings import Finding
from dragoman.doctor.check import PairCheck, Patient
from dragoman.doctor.chunk import Chunk, Rows
from dragoman.doctor.hashes import Hashes, SeenHashes, mixed


class Memory:
    """What the training corpora before this one had: a pair may repeat one of another corpus."""

    def __init__(self, *, left_out: bool = False) -> None:
        self.left_out = left_out
        """Whether training leaves out pairs that it has seen before."""
        self.pairs = SeenHashes()
        self.folded = SeenHashes()
        self.sources = SeenHashes()


class Remembering(PairCheck):
    """A check with a memory that all training corpora share; other parts are compared with themselves alone."""

    in_one_language = True

    def __init__(self, patient: Patient, memory: Memory) -> None:
        super().__init__(patient)
        self.memory = memory
        self._language = np.uint64(crc32(patient.languages[1].encode("utf-8", "surrogatepass")))

    def known(self, seen: SeenHashes, hashes: Hashes) -> NDArray[np.bool_]:
        """Remember what hashes stand for, and tell of which translations into this language have been seen before."""
        return seen.add(np.maximum(mixed(hashes + self._language), np.uint64(1)))


class Duplicates(Remembering):
    """Pairs that repeat an earlier one exactly."""

    name = "duplicate"
    severity = "warning"
    serious = 0.05
    what = "repeats an earlier pair"
    advice = "remove the copies, or set `data.filters.drop_duplicates`: training sees them more often than others"
    advice_on_scores = "remove the copies before you compare scores: they count more than others"
    advice_if_left_out = "fine: training leaves the copies out (`data.filters.drop_duplicates`)"
    removes = True

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with known hashes."""
        known = self.known(self.memory.pairs, both(chunk.source.hashes, chunk.target.hashes))
        return np.flatnonzero(known & (chunk.source.words > 0) & (chunk.target.words > 0))

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if there are copies: a note where training leaves them out."""
        for one in super().findings():
            yield replace(one, severity="note", advice=self.advice_if_left_out) if self.memory.left_out else one


class NearDuplicates(Remembering):
    """Pairs that differ from an earlier one only in case, digits, punctuation or spaces."""

    name = "near-duplicate"
    severity = "warning"
    serious = 0.1
    what = "differs from an earlier pair in case, digits, punctuation or spaces alone"
    advice = "remove them if they are templates, such as dates or menus, of which there are too many"

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with known letters that are not exact copies."""
        source, target = chunk.source.folded, chunk.target.folded
        known = self.known(self.memory.folded, both(source.hashes, target.hashes))
        known &= (source.lengths > 0) & (target.lengths > 0)
        known[chunk.found.get(Duplicates.name, [])] = False
        return np.flatnonzero(known)


class RepeatedSources(Remembering):
    """Sources that have several translations."""

    name = "repeated-source"
    what = "is an earlier source with another translation"
    advice = (
        "fine in training; when you split the corpus, keep pairs with the same source together (`dragoman split` does)"
    )

    def rows(self, chunk: Chunk) -> Rows:
        """Find known sources in pairs that are not copies."""
        known = self.known(self.memory.sources, chunk.source.hashes) & (chunk.source.words > 0)
        known[chunk.found.get(Duplicates.name, [])] = False
        return np.flatnonzero(known)


DUPLICATES = (Duplicates, NearDuplicates, RepeatedSources)
"""All checks for repetitions, in the order in which they must see a chunk."""


def both(source: Hashes, target: Hashes) -> Hashes:
    """Return a hash of each pair."""
    return mixed(source * np.uint64(3) + target)
