"""Find where two parallel files get out of step: lines lost on one side, so that all lines after them are shifted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.doctor.align import Run, align, runs
from dragoman.doctor.lexicon import NOWHERE
from dragoman.doctor.tokens import Tokens, number_tokens

BATCH = 1 << 15
"""Lines of the source that are looked at together; a lexicon is learned from each batch."""
OVERLAP = 2048
"""So many lines at the end of a batch are decided again with the next one, since what follows them counts too."""
MARGIN = 4096
"""Partners are looked for up to so many lines before and after those of a batch."""


@dataclass(frozen=True)
class Shift:
    """Lines whose partners have other line numbers."""

    first_line: int
    """Number of the first line in the source file, counted from 1."""
    last_line: int
    """Number of the last one."""
    offset: int
    """Line i of the source belongs to line i + offset of the target."""
    evidence: float
    """Nats by which this is likelier than equal line numbers."""


@dataclass(frozen=True)
class Misfit:
    """Lines of the source that fit no line of the target, as far as can be seen."""

    first_line: int
    """Number of the first line, counted from 1."""
    last_line: int
    """Number of the last one."""


@dataclass(frozen=True)
class ShiftReport:
    """What a `ShiftDetector` has found."""

    shifts: list[Shift]
    misfits: list[Misfit]
    fit: float
    """Mean nats by which a line fits its partner; near 0, nothing is known of the two sides, or they are unrelated."""


@dataclass
class _Stretch:
    """Lines with one offset, from one batch or several."""

    run: Run
    own: float
    """Sum of the scores at that offset."""
    equal: float
    """Sum of the scores at equal line numbers."""


@dataclass
class ShiftDetector:
    """Reads two parallel files once, in memory bounded by the batch, and finds lines that are out of step.

    The partner of each line is found by a hidden Markov model over offsets (`align`), batch after batch.
    """

    batch: int = BATCH
    """Lines of the source in a batch."""
    _sources: Tokens = field(default_factory=lambda: Tokens.of([]))
    _targets: Tokens = field(default_factory=lambda: Tokens.of([]))
    _line: int = 0
    """How many lines of the source are before `_sources`."""
    _target_line: int = 0
    """How many lines of the target are before `_targets`."""
    _offset: int = 0
    """Offset of the last line that is decided."""
    _stretches: list[_Stretch] = field(default_factory=list)

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Give the next lines of both files; one may be longer than the other, if it goes on longer."""
        self._sources = self._sources.joined(Tokens.of(sources))
        self._targets = self._targets.joined(Tokens.of(targets))
        while len(self._sources) >= 2 * self.batch and self._has_partners(self.batch):
            self._decide(self.batch, self.batch - OVERLAP)

    def finish(self) -> ShiftReport:
        """Decide the rest, and return what has been found."""
        while len(self._sources) >= 2 * self.batch:
            self._decide(self.batch, self.batch - OVERLAP)
        if len(self._sources):
            self._decide(len(self._sources), len(self._sources))
        runs = [stretch.run for stretch in self._stretches]
        misfits = [Misfit(run.first + 1, run.end) for run in runs if run.offset == NOWHERE]
        shifts: list[Shift] = []
        before = 0
        for stretch in self._stretches:
            first, end, offset = stretch.run
            evidence = stretch.own - max(stretch.equal, 0.0)
            if offset not in (0, NOWHERE):
                if offset == before:  # with lines between that fit nothing
                    last = shifts.pop()
                    first, evidence = last.first_line - 1, last.evidence + evidence
                shifts.append(Shift(first + 1, end, offset, evidence))
            before = before if offset == NOWHERE else offset
        fit = sum(stretch.own for stretch in self._stretches) / max(self._line, 1)
        return ShiftReport(shifts, misfits, fit)

    def _has_partners(self, count: int) -> bool:
        """Return whether the target is known as far as is needed, or has ended."""
        known = self._target_line + len(self._targets)
        return known >= self._line + self._offset + count + MARGIN or len(self._sources) >= 4 * self.batch

    def _decide(self, count: int, kept: int) -> None:
        """Look at the next lines of the source, and decide the first of them."""
        begin = max(self._line + self._offset - MARGIN - self._target_line, 0)
        end = max(self._line + self._offset + count + MARGIN - self._target_line, 0)
        targets = self._targets.part(begin, end)
        if len(targets):
            batch = number_tokens(self._sources.part(0, count), targets, self._line - self._target_line - begin)
            alignment = align(batch, self._offset)
            for first, last, offset in runs(alignment.path[:kept]):
                own = float(alignment.aligner.scores(Run(first, last, offset)).sum())
                equal = own if offset == 0 else float(alignment.aligner.scores(Run(first, last, 0)).sum())
                self._extend(_Stretch(Run(self._line + first, self._line + last, offset), own, equal))
                self._offset = self._offset if offset == NOWHERE else offset
        else:
            self._extend(_Stretch(Run(self._line, self._line + kept, NOWHERE), 0.0, 0.0))
        self._line += kept
        self._sources = self._sources.part(kept)
        passed = min(max(self._line + self._offset - MARGIN - self._target_line, 0), len(self._targets))
        self._target_line += passed
        self._targets = self._targets.part(passed)

    def _extend(self, stretch: _Stretch) -> None:
        """Add a stretch, which may continue the last one."""
        last = self._stretches[-1] if self._stretches else None
        if last is None or last.run.offset != stretch.run.offset:
            self._stretches.append(stretch)
        else:
            run = last.run._replace(end=stretch.run.end)
            self._stretches[-1] = _Stretch(run, last.own + stretch.own, last.equal + stretch.equal)


def find_shifts(sources: Sequence[str], targets: Sequence[str]) -> list[Shift]:
    """Find the lines of two parallel texts that are out of step; the two may have different numbers of lines."""
    detector = ShiftDetector()
    detector.add(sources, targets)
    return detector.finish().shifts
