"""Cleaned copies of corpora: pairs with faults are left out, characters are mended, and every change is logged."""

import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from dragoman.atomic import replacing
from dragoman.data.corpus import Pair
from dragoman.doctor.check import Patient
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.encoding import mended
from dragoman.doctor.examine import CHECKS
from dragoman.doctor.leakage import Leakage
from dragoman.errors import InputError

LOG = "changes.jsonl"
REMOVING = {check.name for check in CHECKS if check.removes}
"""Names of the findings whose pairs are left out."""


class Cleaning:
    """Writes each corpus that it is shown to two files in a folder, `PART.LANGUAGE` or `PART-2.LANGUAGE`, and a log.

    The folder must be new or empty; it appears whole, when the cleaning ends without an error.
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} exists and is not an empty folder; give --fix another one")
        self.folder = folder
        self.removed: Counter[str] = Counter()
        self.mended = self.kept = 0
        self._stack = ExitStack()
        self._files: dict[tuple[str, str], tuple[IO[str], IO[str]]] = {}

    def __enter__(self) -> "Cleaning":
        self._temporary = self._stack.enter_context(replacing(self.folder))
        self._temporary.mkdir(parents=True)
        self._log = self._open(LOG)
        return self

    def __exit__(self, *error: object) -> None:
        for files in self._files.values():
            for file in files:
                file.close()
        self._log.close()
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def take(self, patient: Patient, chunk: Chunk) -> None:
        """Write the pairs of a chunk that are kept, mended, and log the others."""
        reasons: dict[int, str] = {}
        for name, rows in chunk.found.items():
            if name in REMOVING and (patient.part == "train" or name != Leakage.name):
                reasons |= dict.fromkeys(rows.tolist(), name) | reasons
        outputs = self._outputs(patient)
        for row, pair in enumerate(chunk.pairs):
            reason = reasons.get(row)
            texts = mended(pair.source), mended(pair.target)
            if reason is not None:
                self.removed[reason] += 1
                self._note("removed", reason, pair)
                continue
            if texts != (pair.source, pair.target):
                self.mended += 1
                self._note("mended", "characters", pair)
            self.kept += 1
            for output, text in zip(outputs, texts, strict=True):
                output.write(f"{text}\n")

    def summary(self) -> str:
        """Say what was done."""
        reasons = ", ".join(f"{count:,} {name}" for name, count in self.removed.most_common())
        removed = f"{self.removed.total():,} removed" + (f" ({reasons})" if reasons else "")
        return f"{self.kept:,} pairs written to {self.folder}, {self.mended:,} of them mended, {removed}; see {self.folder / LOG}"

    def _note(self, what: str, reason: str, pair: Pair) -> None:
        """Log a change."""
        entry = {"change": what, "reason": reason, "place": pair.place, "source": pair.source, "target": pair.target}
        self._log.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def _outputs(self, patient: Patient) -> tuple[IO[str], IO[str]]:
        """Return the two files of a corpus."""
        key = patient.part, patient.name
        if key not in self._files:
            number = 1 + sum(part == patient.part for part, _ in self._files)
            stem = patient.part if number == 1 else f"{patient.part}-{number}"
            sides = patient.languages if patient.languages[0] != patient.languages[1] else ("source", "target")
            self._files[key] = (self._open(f"{stem}.{sides[0]}"), self._open(f"{stem}.{sides[1]}"))
        return self._files[key]

    def _open(self, name: str) -> IO[str]:
        """Open a new file in the folder that will replace `folder`."""
        return (self._temporary / name).open("w", encoding="utf-8", errors="replace", newline="\n")
