"""Faults of single pairs: blank or wordless sides, copies, and columns that do not hold sentences."""

from collections.abc import Iterator

import numpy as np

from dragoman.data.findings import Finding
from dragoman.doctor import characters
from dragoman.doctor.check import Check, PairCheck, Patient, Tally
from dragoman.doctor.chunk import Chunk, Rows
from dragoman.errors import shorten

FEW = 20
"""Sentences are suspicious if this many share one text on average."""

HEADERS = frozenset(
    {"source", "target", "src", "trg", "tgt", "text", "translation", "sentence", "original", "id", "label"}
    | {"english", "vietnamese", "french", "german", "spanish"}
)
"""Names of columns, as well as the codes of the languages."""


class BlankSide(PairCheck):
    """One side is blank, the other is not."""

    name = "blank-side"
    severity = "warning"
    serious = 0.01
    what = "is blank, or its translation is"
    advice = "remove these pairs, or give what is missing; training leaves them out"
    removes = True

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with exactly one blank side."""
        source, target = (side.words == 0 for side in chunk.sides)
        return np.flatnonzero(source != target)


class BlankPair(PairCheck):
    """Both sides are blank."""

    name = "blank-pair"
    what = "is blank, and so is its translation"
    advice = "fine where blank lines separate documents; training leaves them out"
    removes = True

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with nothing in them."""
        return np.flatnonzero((chunk.source.words == 0) & (chunk.target.words == 0))


class NoLetters(PairCheck):
    """One side has neither letters nor digits, the other has words."""

    name = "no-letters"
    severity = "warning"
    serious = 0.001
    what = "has neither letters nor digits, or its translation has none"
    advice = "remove these pairs: there is nothing to translate on one side"
    removes = True

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with words on one side alone."""
        wordless = [(side.letters == 0) & (side.words > 0) for side in chunk.sides]
        words = [side.letters >= 3 for side in chunk.sides]
        return np.flatnonzero(wordless[0] & words[1] | wordless[1] & words[0])


class Copies(PairCheck):
    """Both sides are the same text."""

    name = "copy"
    severity = "warning"
    serious = 0.02
    what = "is the same as its translation"
    advice = (
        "remove these pairs: a model that sees many learns to copy (Khayrallah and Koehn 2018); where it is most of them, check "
        "which file, column or field holds which language"
    )
    advice_on_scores = (
        "remove these pairs before you compare scores: text that only has to be copied makes them higher; where it is most of "
        "them, check which file, column or field holds which language"
    )
    removes = True

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs with words whose sides have the same hash."""
        same = chunk.source.hashes == chunk.target.hashes
        lettered = chunk.source.codes.counts(chunk.source.flags & characters.LETTER != 0) > 1
        return np.flatnonzero(same & lettered)


class Header(Check):
    """The first line names the columns."""

    name = "header"
    severity = "warning"
    what = "looks like the names of columns"
    advice = "delete that line"
    removes = True

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self.tally = Tally()

    def see(self, chunk: Chunk) -> None:
        """Look at the first pair."""
        self.seen += len(chunk)
        if chunk.first == 0:
            pair = chunk.pairs[0]
            texts = [text.strip(' "\ufeff').lower() for text in (pair.source, pair.target)]
            if all(text in HEADERS or text in self.patient.languages for text in texts):
                self.tally.add(chunk, np.zeros(1, np.int64))
                chunk.flag(self.name, np.zeros(1, np.int64))

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if it does."""
        if self.tally.count:
            yield self.finding(self.tally)


class SideCheck(Check):
    """Looks for a fault of a whole side in the first chunk of a corpus."""

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._first: Chunk | None = None

    def see(self, chunk: Chunk) -> None:
        """Keep the first chunk."""
        self.seen += len(chunk)
        if chunk.first == 0:
            self._first = chunk

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each side with the fault."""
        for number in range(0 if self._first is None else 1 if self.patient.one_language else 2):
            assert self._first is not None
            rows, what = self.judge(self._first, number)
            if what:
                tally = Tally()
                tally.add(self._first, rows, (number,))
                tally.first = None
                yield self.finding(tally, number, what=what)

    def judge(self, chunk: Chunk, number: int) -> tuple[Rows, str]:
        """Return the rows with the fault, and what is the matter with the file; no words if nothing is."""
        raise AssertionError


class Quoted(SideCheck):
    """Most lines are in quotation marks, as spreadsheets write them."""

    name = "quoted"
    severity = "warning"
    what = "has most of its lines in quotation marks, as spreadsheets write them"
    advice = "save it without them"

    def judge(self, chunk: Chunk, number: int) -> tuple[Rows, str]:
        """Count texts in quotation marks."""
        texts = [text.strip() for text in chunk.sides[number].lines]
        rows = np.array(
            [row for row, text in enumerate(texts) if len(text) > 1 and text[0] == text[-1] == '"'], np.int64
        )
        return rows, self.what + self.patient.side(number) if 2 * len(rows) > len(texts) else ""


class Wordless(SideCheck):
    """Most lines have no letters."""

    name = "wordless"
    severity = "warning"
    what = "has no letters in most of its lines"
    advice = "check which file, column or field holds sentences"

    def judge(self, chunk: Chunk, number: int) -> tuple[Rows, str]:
        """Count texts without letters."""
        side = chunk.sides[number]
        lettered = side.codes.counts(side.flags & characters.LETTER != 0) > 0
        rows = np.flatnonzero(~lettered & (side.words > 0))
        return rows, self.what + self.patient.side(number) if 2 * len(rows) > len(side) else ""


class FewTexts(SideCheck):
    """A side is one of a few texts, such as labels."""

    name = "few-texts"
    severity = "warning"
    what = "consists of a few texts, each many times"
    advice = "check which file, column or field holds sentences"

    def judge(self, chunk: Chunk, number: int) -> tuple[Rows, str]:
        """Count different texts."""
        side = chunk.sides[number]
        _, first, counts = np.unique(side.hashes, return_index=True, return_counts=True)
        if len(side) < 5 * FEW or len(first) * FEW > len(side):
            return first, ""
        most = shorten(side.lines[int(first[counts.argmax()])])
        what = f"has only {len(first)} different texts in its first {len(side):,} lines, such as {most!r}"
        return np.sort(first), what + self.patient.side(number)


PAIRS = (BlankSide, BlankPair, NoLetters, Copies, Header, Quoted, Wordless, FewTexts)
"""All checks of single pairs and columns."""
