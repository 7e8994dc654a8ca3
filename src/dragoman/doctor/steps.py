"""Checks of whether two files keep step: line i of one belongs to line i of the other."""

from collections.abc import Iterator

from dragoman.data.findings import EXAMPLES, Example, Finding, Severity
from dragoman.doctor.check import Check, Patient, line_of
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.shifts import Misfit, Shift, ShiftDetector

TOLD = 5
"""Number of blocks that a finding names."""
JUDGED, LONG = 200, 30
"""So many lines tell whether two files belong together, if a line and its partner have so many characters on average: the entries
of a dictionary, each of which occurs once, do not."""
UNRELATED = 0.1
"""Nats by which a line fits its partner: real corpora have at least 1, files that do not belong together less than this."""


class Shifted(Check):
    """Finds lines that were lost, added or moved on one side, so that those after them have the wrong partners."""

    name = "shifted"
    severity = "error"
    what = "is not the translation of"
    advice = "put the lost lines back, or remove their partners from the other file too, and check again"

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self.detector = ShiftDetector()
        self.characters = 0
        self.runs: list[tuple[int, int]] = []
        """How many pairs come before, and the line of the file, where the lines do not simply follow those before."""

    def see(self, chunk: Chunk) -> None:
        """Give the lines to the detector."""
        if self.patient.one_language:
            return
        self._number(chunk)
        self.seen += len(chunk)
        self.characters += sum(int(side.codes.lengths.sum()) for side in chunk.sides)
        self.detector.add(*(side.lines for side in chunk.sides))

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for all lines with other partners, and one for those without any."""
        if not self.seen:
            return
        report = self.detector.finish()
        source, target = self.patient.files
        other = target if target != source else "the other side"
        telling = self.seen >= JUDGED and self.characters >= LONG * self.seen
        if telling and not report.shifts and report.fit < UNRELATED:
            what = f"fits {other} no better than lines taken at random would"
            advice = "give the text that belongs to it, in the same order"
            yield Finding(self.name, "warning", what, advice, source, count=self.seen, of=self.seen)
            return
        if report.shifts:
            blocks = [self._shift(shift) for shift in report.shifts]
            what = f"and others do not belong to the same lines of {other}: {listed(blocks)}"
            yield self._found(what, report.shifts, blocks, severity="error")
        if report.misfits:
            blocks = [f"lines {self._range(one.first_line, one.last_line)}" for one in report.misfits]
            what = f"and others fit no line of {other}: {listed(blocks)}"
            yield self._found(what, report.misfits, blocks, severity="warning")

    def _found(self, what: str, found: list[Shift] | list[Misfit], blocks: list[str], *, severity: Severity) -> Finding:
        """Return a finding about blocks of lines."""
        lines = [self._line(one.first_line) for one in found]
        return Finding(
            self.name,
            severity,
            what,
            self.advice,
            self.patient.files[0],
            lines[0],
            sum(one.last_line - one.first_line + 1 for one in found),
            self.seen,
            tuple(Example(line, (block,)) for line, block in zip(lines, blocks[:EXAMPLES], strict=False)),
        )

    def _shift(self, shift: Shift) -> str:
        """Say where the partners of a block of lines are."""
        first, last = (line + shift.offset for line in (shift.first_line, shift.last_line))
        own = self._range(shift.first_line, shift.last_line)
        return f"lines {own} are off by {shift.offset:+d} (they belong to {self._range(first, last)})"

    def _range(self, first: int, last: int) -> str:
        """Name lines by those of the file."""
        return f"{self._line(first):,} to {self._line(last):,}"

    def _number(self, chunk: Chunk) -> None:
        """Remember which lines of the file the pairs of a chunk are, if they do not follow those before."""
        lines = [line_of(pair.place) or 0 for pair in (chunk.pairs[0], chunk.pairs[-1])]
        whole = lines[1] - lines[0] + 1 == len(chunk)
        places = lines[:1] if whole else [line_of(pair.place) or 0 for pair in chunk.pairs]
        for number, line in enumerate(places, self.seen):
            if not self.runs or line - self.runs[-1][1] != number - self.runs[-1][0]:
                self.runs.append((number, line))

    def _line(self, number: int) -> int:
        """Return the line of the file of a pair, counted from 1."""
        before, line = next(run for run in reversed(self.runs) if run[0] < max(number, 1))
        return line + number - 1 - before


def listed(blocks: list[str]) -> str:
    """Join the first blocks to a list, and count the others.

    >>> listed(["lines 1 to 3", "lines 7 to 9"])
    'lines 1 to 3; lines 7 to 9'
    """
    more = len(blocks) - TOLD
    return "; ".join([*blocks[:TOLD], *([f"and {more:,} more"] if more > 0 else [])])
