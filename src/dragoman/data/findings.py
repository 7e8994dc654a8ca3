"""What is wrong with a corpus, as values: readers refuse a corpus because of one, the doctor collects all of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from dragoman.errors import CorpusError, shorten

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the worst. Errors stop a training; warnings and notes do not."""

EXAMPLES = 3
"""Maximum number of examples of a finding."""


@dataclass(frozen=True)
class Example:
    """A place where something was found: a text, or both texts of a pair."""

    line: int | None
    texts: tuple[str, ...]

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}: "
        return place + " ||| ".join(repr(shorten(text)) for text in self.texts)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a file, or looks so.

    `sentence` puts it in words: the place, `what` is the matter there, and the `advice`.
    """

    name: str
    severity: Severity
    what: str
    """What is the matter with the line, or with the file if no line is named: "is not UTF-8 text"."""
    advice: str
    file: str
    line: int | None = None
    """The first line with it, counted from 1."""
    count: int = 1
    """Number of lines with it."""
    of: int | None = None
    """Number of lines of the file that were read, if it is known."""
    examples: tuple[Example, ...] = ()

    @property
    def place(self) -> str:
        """The file and, if there is one, the line."""
        return self.file if self.line is None else f"{self.file}, line {self.line}"

    @property
    def sentence(self) -> str:
        """The finding in one line.

        >>> Finding("not-nfc", "note", "is not in Unicode NFC", "normalise it", "a.vi", line=3, count=97, of=200).sentence
        'a.vi, line 3 is not in Unicode NFC (97 such lines of 200); normalise it'
        """
        of = "" if self.of is None else f" of {self.of:,}"
        many = "" if self.line is None or self.count == 1 else f" ({self.count:,} such lines{of})"
        return f"{self.place} {self.what}{many}; {self.advice}"

    def table(self) -> dict[str, Any]:
        """Return the finding ready for JSON."""
        return {
            "name": self.name,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "count": self.count,
            "of": self.of,
            "what": self.what,
            "advice": self.advice,
            "examples": [{"line": one.line, "texts": list(one.texts)} for one in self.examples],
        }

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Finding":
        """Read what `table` returned. Raises KeyError or TypeError if it is something else."""
        examples = tuple(Example(one["line"], tuple(one["texts"])) for one in table["examples"])
        return cls(**{**table, "examples": examples})


Report = Callable[[Finding], object]
"""Receives what is wrong; what it does not raise is skipped by the reader."""


def refuse(finding: Finding) -> None:
    """Raise CorpusError: the report of a reader that stops at the first fault."""
    raise CorpusError(finding.sentence)


class Collected:
    """A report that keeps one finding of each name and file, with the number of all and the first examples."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def __call__(self, finding: Finding) -> None:
        """Add a finding to those of its name and file."""
        key = finding.name, finding.file
        first = self._found.get(key)
        if first is not None:
            examples = (first.examples + finding.examples)[:EXAMPLES]
            finding = replace(first, count=first.count + finding.count, examples=examples)
        self._found[key] = finding

    def findings(self, of: int) -> list[Finding]:
        """Return all of them, of so many pairs that were read."""
        return [one if one.line is None else replace(one, of=max(of, one.count)) for one in self._found.values()]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return errors before warnings before notes, each in the order given."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity))


class LineFault(Exception):
    """What is the matter with a line, and what to do: its two arguments."""

    def finding(self, name: str, file: object, line: int) -> Finding:
        """Return the fault as an error of that line."""
        what, advice = self.args
        return Finding(name, "error", what, advice, str(file), line)
