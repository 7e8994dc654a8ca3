"""Tokenised, lower-cased or truecased text beside raw text: between corpora, and inside one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dragoman.data.findings import Finding
from dragoman.doctor import characters
from dragoman.doctor.check import Check, Patient, Tally
from dragoman.doctor.chunk import Chunk, Side

FAR = 0.5
"""Two texts differ in style if a share differs so much."""
MARKS = 50
"""So many full stops and commas, or letters at the starts of lines, tell of a style."""


@dataclass
class Style:
    """Counts that tell how a text is written."""

    apart: int = 0
    """Full stops and commas after a space."""
    marks: int = 0
    """All full stops and commas at ends of words."""
    capitals: int = 0
    """Lines whose first letter is a capital."""
    starts: int = 0
    """Lines with a letter of a script that has capitals."""
    upper: int = 0
    """Capital letters."""

    @classmethod
    def of(cls, side: Side) -> "Style":
        """Count in the lines of a side."""
        text = side.text
        apart = sum(map(text.count, (" .\n", " , ")))
        marks = sum(map(text.count, (".\n", ", ")))
        letters = np.flatnonzero(side.flags & (characters.UPPER | characters.LOWER))
        first = np.searchsorted(letters, side.codes.starts)
        inside = first < np.searchsorted(letters, side.codes.ends)
        capital = side.flags[letters[first[inside]]] & characters.UPPER != 0
        upper = int((side.flags & characters.UPPER != 0).sum())
        return cls(apart, marks, int(capital.sum()), len(capital), upper)

    def __add__(self, other: "Style") -> "Style":
        return Style(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    @property
    def tokenised(self) -> float | None:
        """Share of full stops and commas after a space; None if there are too few."""
        return self.apart / self.marks if self.marks >= MARKS else None

    @property
    def cased(self) -> float | None:
        """Share of lines whose first letter is a capital; None if there are too few."""
        return self.capitals / self.starts if self.starts >= MARKS else None

    def words(self) -> str:
        """Describe the style."""
        found = []
        if self.tokenised is not None:
            found.append("tokenised" if self.tokenised > 0.5 else "not tokenised")
        if self.cased is not None and self.cased < 0.5:
            found.append("truecased" if self.upper > self.starts / 20 else "in lower case")
        elif self.cased is not None:
            found.append("with capitals at the starts of lines")
        return ", ".join(found)

    def unlike(self, other: "Style") -> bool:
        """Tell whether another text is written in another way."""
        pairs = ((self.tokenised, other.tokenised), (self.cased, other.cased))
        return any(one is not None and two is not None and abs(one - two) > FAR for one, two in pairs)


class OtherStyle(Check):
    """A corpus is tokenised, truecased or in lower case, and a training corpus is not, or the reverse."""

    name = "other-style"
    severity = "warning"
    what = "is written in another way than the training data"
    advice = "write all of it in the same way: undo tokenisation and casing, or apply the same to both"

    def __init__(self, patient: Patient, styles: "Styles") -> None:
        super().__init__(patient)
        self.sides = [Style(), Style()]
        self.styles = styles
        styles.known.append(self)

    def see(self, chunk: Chunk) -> None:
        """Count in both sides."""
        self.seen += len(chunk)
        for number, style in enumerate(self.styles.of(chunk)):
            self.sides[number] += style

    def findings(self) -> Iterator[Finding]:
        """Yield nothing: `Styles.findings` does when all corpora were seen."""
        return iter(())

    def differences(self, other: "OtherStyle") -> Iterator[Finding]:
        """Yield a finding for each side that is unlike the side of the same language of a training corpus."""
        for number, style in enumerate(self.sides[: 1 if self.patient.one_language else 2]):
            language = self.patient.languages[number]
            for side, known in enumerate(other.sides):
                if other.patient.languages[side] == language and (language or side == number) and known.unlike(style):
                    what = f"is {style.words()}, but {other.patient.files[side]} is {known.words()}"
                    yield self.finding(Tally(self.seen), number, what=what + self.patient.side(number))
                    break


class Styles:
    """The styles of all corpora."""

    def __init__(self) -> None:
        self.known: list[OtherStyle] = []
        self._last: tuple[Chunk, list[Style]] | None = None

    def of(self, chunk: Chunk) -> list[Style]:
        """Return the styles of both sides, computed once for the checks that ask for those of the same chunk in turn."""
        if self._last is None or self._last[0] is not chunk:
            self._last = chunk, [Style.of(side) for side in chunk.sides]
        return self._last[1]

    def findings(self) -> Iterator[Finding]:
        """Compare each corpus with the largest training corpus."""
        trained = [one for one in self.known if one.patient.part == "train"]
        largest = max(trained, key=lambda one: one.seen, default=None)
        for one in self.known:
            if largest is not None and one is not largest:
                yield from one.differences(largest)


class MixedStyle(Check):
    """Parts of one corpus are written in different ways."""

    name = "mixed-style"
    severity = "warning"
    what = "is tokenised or cased in one part and not in another"
    advice = OtherStyle.advice

    def __init__(self, patient: Patient, styles: Styles) -> None:
        super().__init__(patient)
        self.styles = styles
        self._first: list[Style | None] = [None, None]
        self._tallies = (Tally(), Tally())
        self._styles = ["", ""]

    def see(self, chunk: Chunk) -> None:
        """Compare blocks of a chunk with the first of all."""
        self.seen += len(chunk)
        for number, style in enumerate(self.styles.of(chunk)):
            first = self._first[number]
            if first is None or (first.tokenised is None and style.tokenised is not None):
                self._first[number] = style
            elif first.unlike(style):
                self._styles[number] = (
                    self._styles[number] or f"{style.words()}, while its beginning is {first.words()}"
                )
                self._tallies[number].count += len(chunk) - 1
                self._tallies[number].add(chunk, np.zeros(1, np.int64), (number,))

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each side with unlike parts."""
        for number, tally in enumerate(self._tallies[: 1 if self.patient.one_language else 2]):
            if tally.count:
                yield self.finding(tally, number, what=f"is {self._styles[number]}" + self.patient.side(number))
