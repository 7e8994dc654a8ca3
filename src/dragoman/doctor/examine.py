"""The examination of corpora: one pass over each, in which all checks see each chunk of pairs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from dragoman.data.corpus import Pair, name_of, read_pairs, require_files
from dragoman.data.corpus_settings import CorpusSettings, LinesSettings
from dragoman.data.findings import SEVERITIES, Collected, Finding, worst_first
from dragoman.data.settings import DataSettings
from dragoman.doctor.check import Check, Patient
from dragoman.doctor.chunk import Chunk, chunks
from dragoman.doctor.duplicates import DUPLICATES, Memory
from dragoman.doctor.encoding import ENCODING
from dragoman.doctor.languages import (
    ENOUGH,
    LEARN,
    Identified,
    OtherLanguage,
    Swapped,
    Trigrams,
    WrongScript,
    unidentified,
)
from dragoman.doctor.leakage import Leakage, NearLeakage, Reference, References
from dragoman.doctor.lengths import Ratios, Shape, Sorted, Spilled
from dragoman.doctor.pairs import PAIRS
from dragoman.doctor.sizes import SIZES, Limits, LongerThanModel, TooFew, TooLittle, TooLong, Training
from dragoman.doctor.steps import Shifted
from dragoman.doctor.style import MixedStyle, OtherStyle, Styles
from dragoman.errors import CorpusError, number_of

VERSION = 5
"""Verdicts of another version are not reused."""

Progress = Callable[[int], object]
"""Receives the number of pairs examined so far."""

CHECKS: tuple[type[Check], ...] = (
    *ENCODING,
    *PAIRS,
    *DUPLICATES,
    *(Shifted, Leakage, NearLeakage, Ratios, Spilled, Sorted, Swapped, OtherLanguage, WrongScript, Identified),
    *(OtherStyle, MixedStyle, *SIZES, TooLittle),
)
"""All checks."""


@dataclass
class Corpus:
    """What was seen of a corpus."""

    part: str
    name: str
    pairs: int = 0
    shape: Shape = field(default_factory=Shape)

    def table(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {"part": self.part, "name": self.name, "pairs": self.pairs, **self.shape.table()}


@dataclass
class Verdict:
    """The result of an examination."""

    findings: list[Finding]
    corpora: list[Corpus]
    seconds: float = 0.0

    @property
    def pairs(self) -> int:
        """Number of pairs examined."""
        return sum(corpus.pairs for corpus in self.corpora)

    def of(self, severity: str) -> list[Finding]:
        """Return the findings of a severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def summary(self) -> str:
        """Say how many findings of each severity there are.

        >>> Verdict([], []).summary()
        '0 pairs: 0 errors, 0 warnings, 0 notes'
        """
        counts = (number_of(len(self.of(one)), one) for one in SEVERITIES)
        return f"{number_of(self.pairs, 'pair')}: {', '.join(counts)}"

    def table(self) -> dict[str, Any]:
        """Return the verdict ready for JSON."""
        return {
            "pairs": self.pairs,
            "seconds": round(self.seconds, 3),
            **{f"{one}s": len(self.of(one)) for one in SEVERITIES},
            "findings": [finding.table() for finding in self.findings],
            "corpora": [corpus.table() for corpus in self.corpora],
        }


class Cleaner(Protocol):
    """Receives each chunk after all checks have seen it, such as a writer of cleaned corpora."""

    def take(self, patient: Patient, chunk: Chunk) -> None:
        """Take a chunk, in which checks have flagged rows."""


@dataclass
class _Shared:
    """What the checks of several corpora share."""

    limits: Limits
    trigrams: Mapping[tuple[str, str], Trigrams]
    memory: Memory
    styles: Styles = field(default_factory=Styles)
    references: References = field(default_factory=lambda: References([]))


def examine(
    data: DataSettings,
    *,
    limits: Limits | None = None,
    progress: Progress = lambda pairs: None,
    cleaner: Cleaner | None = None,
) -> Verdict:
    """Examine all corpora of a recipe's section `data`; memory grows by up to 100 bytes a pair, to 1 GB at most.

    Raises CorpusError for what makes reading impossible, such as a missing file or a pipe.
    """
    require_files(data)
    began = time.monotonic()
    limits = limits or Limits(data.filters)
    shared = _Shared(limits, _learn_trigrams(data), Memory(left_out=limits.filters.drop_duplicates))
    training = Training(limits)
    verdict = Verdict([], [])
    references: list[Reference] = []
    for part in ("dev", "test", "train"):
        if part == "train":
            shared.references = References(references)
        for settings in getattr(data, part):
            patient = _patient(part, settings, data)
            corpus, faults = Corpus(part, patient.name), Collected()
            verdict.corpora.append(corpus)
            checks = list(_checks(patient, shared, corpus.shape))
            own = [Reference(patient, number) for number in range(2)] if part != "train" else []
            references += own[: 1 if patient.one_language else 2]
            learned_from = part == "train" and not settings.is_noised
            training.corpora += [patient] if learned_from else []
            for chunk in chunks(_pairs(settings, data, faults)):
                corpus.pairs += len(chunk)
                corpus.shape.add(chunk)
                for check in checks:
                    check.see(chunk)
                for reference in own:
                    reference.learn(chunk)
                if learned_from:
                    training.add(chunk)
                if cleaner is not None:
                    cleaner.take(patient, chunk)
                progress(verdict.pairs)
            verdict.findings += faults.findings(corpus.pairs)
            verdict.findings += chain.from_iterable(check.findings() for check in checks)
    verdict.findings += [*shared.references.findings(), *shared.styles.findings(), *training.findings()]
    verdict.findings += unidentified(training.corpora)
    verdict.findings = worst_first(_once(verdict.findings))
    verdict.seconds = time.monotonic() - began
    return verdict


def _checks(patient: Patient, shared: _Shared, shape: Shape) -> Iterator[Check]:
    """Yield the checks of one corpus, in the order in which they see its chunks."""
    yield from (kind(patient) for kind in (*ENCODING, *PAIRS))
    memory = shared.memory if patient.part == "train" else Memory()
    yield from (kind(patient, memory) for kind in DUPLICATES)
    yield from (kind(patient, shape) for kind in (Ratios, Spilled))
    trigrams = shared.trigrams.get(patient.languages) or Trigrams([])
    yield from (kind(patient, trigrams) for kind in (Swapped, OtherLanguage))
    yield from (kind(patient) for kind in (Shifted, WrongScript, Identified, TooFew))
    yield Sorted(patient, shared.limits)
    yield from (kind(patient, shared.styles) for kind in (MixedStyle, OtherStyle))
    if patient.part == "train":
        yield TooLong(patient, shared.limits)
        yield LongerThanModel(patient, shared.limits)
        yield Leakage(patient, shared.references)


def _patient(part: str, corpus: CorpusSettings, data: DataSettings) -> Patient:
    """Describe a corpus for checks."""
    name = name_of(corpus, data)
    files = (name, str(data.place(corpus.target, corpus)) if isinstance(corpus, LinesSettings) else name)
    return Patient(part, name, files, data.direction(corpus))


def _pairs(corpus: CorpusSettings, data: DataSettings, faults: Collected) -> Iterator[Pair]:
    """Read a corpus once and as it is written, without what it is not examined for; faults are collected.

    A file of documents is read where it decides what is held out. Raises CorpusError where no pair can be read, unless faults
    say why.
    """
    plain: dict[str, Any] = {"both_ways": False}
    if isinstance(corpus, LinesSettings):
        plain["links"] = None
        if isinstance(corpus.documents, Path) and corpus.hold_out is None:
            plain["documents"] = None
    try:
        yield from read_pairs(corpus.model_copy(update=plain), data, faults)
    except CorpusError:
        if not faults.findings(0):
            raise


def _learn_trigrams(data: DataSettings) -> dict[tuple[str, str], Trigrams]:
    """Learn trigrams of each two languages, in both orders, from their first training corpus that is large enough."""
    found: dict[tuple[str, str], Trigrams] = {}
    for corpus in data.train:
        source, target = data.direction(corpus)
        if source != target and (source, target) not in found:
            learned = Trigrams(chunks(islice(_pairs(corpus, data, Collected()), LEARN)))
            if learned.pairs >= ENOUGH:
                found |= {(source, target): learned, (target, source): learned.turned()}
    return found


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Leave out errors that another check has found in the same file."""
    kept: list[Finding] = []
    for one in findings:
        known = {(other.name, other.file) for other in kept if other.severity == "error"}
        if one.severity != "error" or (one.name, one.file) not in known:
            kept.append(one)
    return kept
