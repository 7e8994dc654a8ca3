"""Cleaned copies of corpora: pairs with faults are left out, characters are mended, and every change is logged."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.atomic import replacing
from dragoman.data.corpus import Pair
from dragoman.data.corpus_settings import LinesSettings
from dragoman.data.settings import DataSettings
from dragoman.doctor.check import Check, Patient
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.duplicates import Duplicates, Memory
from dragoman.doctor.encoding import Mojibake, ReplacementCharacters, mended
from dragoman.doctor.examine import CHECKS
from dragoman.doctor.languages import WrongScript
from dragoman.doctor.leakage import Leakage
from dragoman.doctor.pairs import BlankPair, BlankSide, Copies, NoLetters
from dragoman.errors import InputError

LOG = "changes.jsonl"
REMOVING = {check.name for check in CHECKS if check.removes}
"""Names of the findings whose pairs are left out."""
FROM_TRAINING = {Leakage.name, Duplicates.name, Copies.name}
"""Those whose pairs stay in dev and test: they harm training alone, and without them scores could not be compared any more."""
HIDDEN = (ReplacementCharacters, Mojibake, BlankSide, BlankPair, NoLetters, WrongScript)
"""Faults that entities or invisible characters may have hidden, in any part."""


def check_fixable(data: DataSettings) -> None:
    """Raise InputError for corpora with other files whose lines would no longer belong to those of a cleaned copy."""
    for corpus in (*data.train, *data.dev, *data.test):
        if not isinstance(corpus, LinesSettings):
            continue
        for name, path in (("links", corpus.links), ("documents", corpus.documents)):
            if isinstance(path, Path):
                raise InputError(
                    f"{corpus.source} has `{name}` in a file of its own, {path}, which --fix does not clean; leave `{name}` "
                    "out of the recipe for this"
                )


@dataclass
class _Copy:
    """The files that a corpus is written to."""

    patient: Patient
    files: tuple[IO[str], IO[str]]
    checks: Sequence[Check]
    """What mended pairs are looked at with: faults that invisible characters or entities have hidden."""
    document: str | None = None
    """That of the last pair written."""


class Cleaning:
    """Writes each corpus that it is shown to two files in a folder, `PART.LANGUAGE` or `PART-2.LANGUAGE`, and a log.

    Documents are apart by a blank line in both files (`documents: blank lines`).
    The folder must be new or empty; it appears whole, when the cleaning ends without an error.
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} exists and is not an empty folder; give --fix another one")
        self.folder = folder
        self.removed: Counter[str] = Counter()
        self.mended = self.kept = 0
        self._memory = Memory()
        self._copies: list[_Copy] = []

    def __enter__(self) -> "Cleaning":
        with ExitStack() as begun:
            self._temporary = begun.enter_context(replacing(self.folder))
            self._temporary.mkdir(parents=True)
            self._files = begun.enter_context(ExitStack())
            self._log = self._open(LOG)
            self._stack = begun.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def take(self, patient: Patient, chunk: Chunk) -> None:
        """Write the pairs of a chunk that are kept, mended, and log the others."""
        reasons: dict[int, str] = {}
        removing = REMOVING if patient.part == "train" else REMOVING - FROM_TRAINING
        for name, rows in chunk.found.items():
            if name in removing:
                reasons |= dict.fromkeys(rows.tolist(), name) | reasons
        copy = self._copy(patient)
        left = [row for row in range(len(chunk)) if row not in reasons]
        mended_pairs = {row: _mended(chunk.pairs[row]) for row in left}
        reasons |= {left[at]: name for at, name in _hidden(list(mended_pairs.values()), copy.checks).items()}
        for row, pair in enumerate(chunk.pairs):
            if (reason := reasons.get(row)) is not None:
                self.removed[reason] += 1
                self._note("removed", reason, pair)
                continue
            texts = mended_pairs[row][:2]
            if texts != pair[:2]:
                self.mended += 1
                self._note("mended", "characters", pair)
            self.kept += 1
            blank = "\n" * (copy.document is not None and pair.document != copy.document)
            copy.document = pair.document
            for output, text in zip(copy.files, texts, strict=True):
                output.write(f"{blank}{text}\n")

    def summary(self) -> str:
        """Say what was done."""
        reasons = ", ".join(f"{count:,} {name}" for name, count in self.removed.most_common())
        removed = f"{self.removed.total():,} removed" + (f" ({reasons})" if reasons else "")
        return f"{self.kept:,} pairs written to {self.folder}, {self.mended:,} of them mended, {removed}; see {self.folder / LOG}"

    def _note(self, what: str, reason: str, pair: Pair) -> None:
        """Log a change."""
        entry = {"change": what, "reason": reason, "place": pair.place, "source": pair.source, "target": pair.target}
        self._log.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def _copy(self, patient: Patient) -> "_Copy":
        """Return the copy of a corpus; two may have files or languages in common."""
        if not self._copies or self._copies[-1].patient is not patient:
            number = 1 + sum(copy.patient.part == patient.part for copy in self._copies)
            stem = patient.part if number == 1 else f"{patient.part}-{number}"
            sides = patient.languages if patient.languages[0] != patient.languages[1] else ("source", "target")
            files = self._open(f"{stem}.{sides[0]}"), self._open(f"{stem}.{sides[1]}")
            checks: list[Check] = [kind(patient) for kind in HIDDEN]
            if patient.part == "train":
                checks += [Copies(patient), Duplicates(patient, self._memory)]
            self._copies.append(_Copy(patient, files, checks))
        return self._copies[-1]

    def _open(self, name: str) -> IO[str]:
        """Open a new file in the folder that will replace `folder`."""
        file = (self._temporary / name).open("w", encoding="utf-8", errors="replace", newline="\n")
        return self._files.enter_context(file)


def _mended(pair: Pair) -> Pair:
    """Return a pair with both texts mended."""
    return pair._replace(source=mended(pair.source), target=mended(pair.target))


def _hidden(pairs: Sequence[Pair], checks: Sequence[Check]) -> dict[int, str]:
    """Return the name of the fault of each mended pair that has one."""
    if not pairs:
        return {}
    chunk = Chunk(pairs, 0)
    for check in checks:
        check.see(chunk)
    return {row: name for name, rows in chunk.found.items() for row in rows.tolist()}
