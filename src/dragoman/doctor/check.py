"""What all checks have in common: they see a corpus chunk by chunk, and say at the end what they found."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dragoman.data.directions import Direction
from dragoman.data.findings import EXAMPLES, Example, Finding, Severity
from dragoman.doctor.chunk import Chunk, Rows, Side
from dragoman.errors import shorten

LONGEST = 500
"""Maximum characters of an example."""
LINE = re.compile(r"(.*), (?:line|sentence) (\d+)", re.DOTALL)


@dataclass(frozen=True)
class Patient:
    """A corpus that is examined."""

    part: str
    """`train`, `dev` or `test`."""
    name: str
    """Name of the corpus, for messages."""
    files: tuple[str, str]
    """The files of source and target, which may be one."""
    languages: Direction

    @property
    def one_language(self) -> bool:
        """Whether both sides are in one language, as in text for a language model."""
        return self.languages[0] == self.languages[1]

    def side(self, number: int) -> str:
        """Return words that tell the sides of one file apart, to follow those that say what is the matter."""
        return "" if self.files[0] != self.files[1] or self.one_language else f" in its {('source', 'target')[number]}"


@dataclass
class Tally:
    """How many lines have something, where the first is, and examples."""

    count: int = 0
    first: int | None = None
    examples: list[Example] = field(default_factory=list)

    def add(self, chunk: Chunk, rows: Rows, sides: Sequence[int] = (0, 1)) -> None:
        """Count rows of a chunk, and keep the first as examples, with the texts of these sides."""
        self.count += len(rows)
        for row in rows[: EXAMPLES - len(self.examples)].tolist():
            pair = chunk.pairs[row]
            line = line_of(pair.place)
            self.first = line if self.first is None else self.first
            texts = tuple(shorten((pair.source, pair.target)[side], LONGEST) for side in sides)
            self.examples.append(Example(line, texts))


class Check(ABC):
    """Looks for one kind of fault in one corpus; checks are made anew for each corpus."""

    name: ClassVar[str]
    """Name of its findings."""
    severity: ClassVar[Severity] = "note"
    """The worst severity of its findings."""
    serious: ClassVar[float] = 0.0
    """A warning about a smaller share of the lines than this is only a note."""
    what: ClassVar[str]
    """What is the matter with a line: "has control characters"."""
    advice: ClassVar[str]
    advice_on_scores: ClassVar[str] = ""
    """The advice about dev and test, where that of `advice` is about learning."""
    removes: ClassVar[bool] = False
    """Whether pairs with this fault are removed when a corpus is cleaned."""

    def __init__(self, patient: Patient) -> None:
        self.patient = patient
        self.seen = 0
        """Pairs seen so far."""

    @abstractmethod
    def see(self, chunk: Chunk) -> None:
        """Look at the next chunk of the corpus."""

    @abstractmethod
    def findings(self) -> Iterator[Finding]:
        """Yield what was found, after the last chunk."""

    def finding(self, tally: Tally, number: int = 0, *, what: str = "", severity: Severity | None = None) -> Finding:
        """Return a finding about the file of a side; `what` and `severity` replace those of the class."""
        usual: Severity = self.severity
        if usual == "warning" and tally.count < self.serious * self.seen:
            usual = "note"
        learned_from = self.patient.part == "train"
        return Finding(
            self.name,
            severity or usual,
            what or self.what,
            self.advice if learned_from else self.advice_on_scores or self.advice,
            self.patient.files[number],
            tally.first,
            tally.count,
            self.seen or None,
            tuple(tally.examples),
        )


class LineCheck(Check):
    """Looks for a fault in the lines of each side by itself."""

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self.tallies = (Tally(), Tally())

    @abstractmethod
    def rows(self, side: Side) -> Rows:
        """Return the lines with the fault, in order."""

    def see(self, chunk: Chunk) -> None:
        """Count the lines with the fault; those of text in one language once."""
        self.seen += len(chunk)
        for number, side in enumerate(chunk.sides[: 1 if self.patient.one_language else 2]):
            rows = self.rows(side)
            if len(rows):
                self.tallies[number].add(chunk, rows, (number,))
                chunk.flag(self.name, rows)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each side with the fault."""
        for number, tally in enumerate(self.tallies):
            if tally.count:
                yield self.finding(tally, number, what=self.what + self.patient.side(number))


class PairCheck(Check):
    """Looks for a fault of both sides together."""

    in_one_language: ClassVar[bool] = False
    """Whether there can be such a fault where both sides are the same text."""

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self.tally = Tally()

    @abstractmethod
    def rows(self, chunk: Chunk) -> Rows:
        """Return the pairs with the fault, in order."""

    def see(self, chunk: Chunk) -> None:
        """Count the pairs with the fault."""
        self.seen += len(chunk)
        if self.in_one_language or not self.patient.one_language:
            rows = self.rows(chunk)
            if len(rows):
                self.tally.add(chunk, rows)
                chunk.flag(self.name, rows)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if there are pairs with the fault."""
        if self.tally.count:
            yield self.finding(self.tally)


def line_of(place: str) -> int | None:
    """Return the number at the end of the place of a pair.

    >>> line_of("a, line 1.en, line 7")
    7
    """
    found = LINE.fullmatch(place)
    return int(found[2]) if found else None
