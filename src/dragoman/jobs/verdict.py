"""What an adaptation has changed, in the domain and in general, and whether to keep it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.data.corpus import Pair
from dragoman.data.ledger import write_recorded
from dragoman.errors import RunError
from dragoman.inference.translator import Translator
from dragoman.jobs.mixing import FOLDER, Mixture, written_pairs
from dragoman.metrics.scores import bleu
from dragoman.metrics.significance import score_difference
from dragoman.runs.folder import open_run

FILE = "adaptation.json"
"""File of an adapted run with the verdict."""
TOLERATED = 0.5
"""BLEU that may be lost on general text."""

Advice = Literal["keep", "keep for the domain", "discard"]
"""What to do with an adapted run."""


@dataclass(frozen=True)
class Change:
    """BLEU of the base and of the adapted run on the same sentences, and the 95% interval of the difference."""

    sentences: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    signature: str

    @property
    def better(self) -> bool:
        """Tell whether the adapted run is better beyond chance, by an interval to the tenth of BLEU that is shown."""
        return round(self.low, 1) > 0

    @property
    def worse(self) -> bool:
        """Tell whether the adapted run is worse beyond chance, by the same interval."""
        return round(self.high, 1) < 0

    @property
    def finding(self) -> str:
        """Say what the interval says."""
        if self.better:
            return "the new run is better"
        return "the new run is worse" if self.worse else "the difference may be chance"

    def __str__(self) -> str:
        return (
            f"BLEU {self.before:.1f} -> {self.after:.1f}, {self.difference:+z.1f} "
            f"(95% interval {self.low:+z.1f} to {self.high:+z.1f}, {self.sentences:,} sentences)"
        )


@dataclass(frozen=True)
class Verdict:
    """How an adapted run compares with its base."""

    domain: Change
    general: Change | None
    """None if there is no general text to measure on."""
    tested: str
    """Part of the domain's folder that was translated: `test`, or `dev`, on which the weights were chosen too."""
    general_tested: str = "test"
    """The same of general text."""

    @property
    def advice(self) -> Advice:
        """Say what to do: keep what is better in the domain beyond chance, if general text has not lost too much."""
        if not self.domain.better:
            return "discard"
        lost = self.general is not None and self.general.worse and self.general.difference < -TOLERATED
        return "keep for the domain" if lost else "keep"

    def __str__(self) -> str:
        lines = [f"In the domain {self.domain.finding}: {self.domain}."]
        if self.general is None:
            lines.append("In general: not measured, because there is no general dev set; give one with --general.")
        else:
            lines.append(f"In general {self.general.finding}: {self.general}.")
        parts = {"The domain": self.tested} | ({} if self.general is None else {"General text": self.general_tested})
        for name in (name for name, part in parts.items() if part == "dev"):
            lines.append(f"{name} is measured on dev, which also chose the weights; a test set would be stricter.")
        lines.append(
            {
                "keep": "Keep it.",
                "keep for the domain": f"Keep it for this domain alone: general text loses more than {TOLERATED} BLEU. More "
                "general pairs (--mix) or a smaller `training.learning_rate` forget less.",
                "discard": "Do not keep it: more pairs from the domain, or more time, may help.",
            }[self.advice]
        )
        return "\n".join(lines)


def judge(folder: Path, *, device: str = "auto") -> Verdict:
    """Translate the test sets of an adapted run with it and with its base; return the verdict, and write adaptation.json.

    The difference of BLEU is tested by paired bootstrap (Koehn 2004). Raises RunError for a run that `adapt` has not made.
    """
    run, mixture = open_run(folder), Mixture.load(folder / FOLDER)
    if mixture is None or "adapted" not in run.manifest:
        raise RunError(
            f"{folder} was not made by `dragoman adapt`, so there is nothing to compare it with; give one that was"
        )
    tests = {name: written_pairs(run, mixture, f"{name}-test") for name in ("domain", "general")}
    every = [pair for pairs in tests.values() for pair in pairs]
    before, after = (_translated(place, every, device) for place in (run.base().folder, folder))
    first = len(tests["domain"])
    domain = _change(tests["domain"], before[:first], after[:first])
    general = _change(tests["general"], before[first:], after[first:]) if tests["general"] else None
    verdict = Verdict(domain, general, mixture.tested, mixture.general_tested)
    table: dict[str, Any] = {**asdict(verdict), "advice": verdict.advice}
    write_recorded(folder, folder / FILE, json.dumps(table, indent=2) + "\n")
    return verdict


def _translated(folder: Path, pairs: list[Pair], device: str) -> list[str]:
    """Translate the sources of pairs with a run, as its recipe searches."""
    translator = Translator.load(folder, device=device)
    found = translator.translate([pair.source for pair in pairs], to=[pair.between for pair in pairs])
    return [one.text for one in found]


def _change(pairs: list[Pair], before: list[str], after: list[str]) -> Change:
    """Compare two systems' translations."""
    references = [pair.target for pair in pairs]
    old, new = (bleu(texts, [references]) for texts in (before, after))
    difference = score_difference(before, after, references)
    return Change(len(pairs), old.score, new.score, difference.score, difference.low, difference.high, new.signature)
