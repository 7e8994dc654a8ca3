"""What was measured: JSON objects, one a line, that only ever grow. The page is written from them alone."""

import hashlib
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""`part`, `key` (a hash of all that the numbers depend on) and `what` (turn, loaded, skipped, about ...), and its numbers."""


class Records:
    """The records of one part in a file of their own; those of another key are kept and not seen."""

    def __init__(self, folder: Path, part: str, key: str) -> None:
        self.path = folder / f"{part}.jsonl"
        self.part = part
        self.key = key
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, what: str, **numbers: Any) -> Record:
        """Write one record to the end of the file."""
        record = {"part": self.part, "key": self.key, "what": what, **numbers}
        text = self.path.read_bytes() if self.path.exists() else b""
        with self.path.open("ab") as file:
            if text and not text.endswith(b"\n"):
                file.write(b"\n")
            file.write(json.dumps(record).encode() + b"\n")
        return record

    def all(self, what: str | None = None, **wanted: Any) -> list[Record]:
        """Return the records of this key, of one kind, that have what is wanted."""
        wanted |= {"key": self.key} | ({} if what is None else {"what": what})
        return matching(read(self.path), **wanted)

    def forget(self, contestants: Collection[str] | None = None) -> None:
        """Drop the records of this key, or of those of some contestants, to measure again."""
        kept = [
            record
            for record in read(self.path)
            if record.get("key") != self.key
            or (contestants is not None and record.get("contestant") not in contestants)
        ]
        partial = self.path.with_name(f"{self.path.name}.partial")
        partial.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
        partial.replace(self.path)


def digest(found: Any) -> str:
    """Return a short hash of what JSON can say."""
    return hashlib.sha256(json.dumps(found, sort_keys=True, default=str).encode()).hexdigest()[:12]


def read(path: Path) -> list[Record]:
    """Return the records of a file; a line cut short by a crash is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the records whose key is that of the last one: those of the newest run."""
    found = list(records)
    return matching(found, key=found[-1]["key"]) if found else []


def matching(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records that have what is wanted."""
    return [record for record in records if all(record.get(name) == value for name, value in wanted.items())]
