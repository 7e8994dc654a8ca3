"""Where the records of training go: metrics.jsonl, and optional TensorBoard events."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.data.ledger import matches, name_of, record_growing, recorded, write_recorded
from dragoman.errors import TrainingError
from dragoman.json_files import parse_json
from dragoman.training.contracts import Listener


class Silent:
    """A listener that does nothing."""

    def progress(self, record: Mapping[str, Any]) -> None:
        """Do nothing."""

    def record(self, record: Mapping[str, Any]) -> None:
        """Do nothing."""

    def say(self, sentence: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class MetricsFile:
    """metrics.jsonl: one JSON object per line, each with the step it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one record. Numbers that are not finite are written as null. TrainingError if the disk is full."""
        clean = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in record.items()
        }
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(clean) + "\n")
        except OSError as error:
            raise TrainingError(
                f"{self.path} cannot be written ({error.strerror}); free some disk space, and continue with --resume"
            ) from None

    def record(self) -> None:
        """Record the checksum of what is there; records that follow need none, as a resumed run writes them again."""
        record_growing(self.path.parent, self.path)

    def changed(self) -> bool:
        """Tell whether what was recorded is not there any more, as it was."""
        folder = self.path.parent
        return not matches(self.path, (recorded(folder) or {}).get(name_of(folder, self.path)))

    def truncate_after(self, step: int) -> int:
        """Drop what a resumed run will write again: records after `step`, and of the average that ends a training.

        Return the number of damaged lines dropped.
        """
        if not self.path.exists():
            return 0
        records, damaged = self._parsed()
        kept = [record for record in records if record["step"] <= step and "averaged" not in record]
        write_recorded(self.path.parent, self.path, "".join(json.dumps(record) + "\n" for record in kept), grows=True)
        return damaged

    def validated(self, step: int) -> bool:
        """Tell whether the weights of a step were measured on dev."""
        return any(one["step"] == step and "dev_loss" in one and "averaged" not in one for one in self.read())

    def read(self) -> list[dict[str, Any]]:
        """Return the records, without damaged lines such as a last line truncated by a crash."""
        return self._parsed()[0] if self.path.exists() else []

    def _parsed(self) -> tuple[list[dict[str, Any]], int]:
        """Return the records, and the number of damaged lines before the last."""
        *lines, last = self.path.read_bytes().split(b"\n")
        parsed = [_record(line) for line in lines]
        damaged = parsed.count(None)
        return [record for record in (*parsed, _record(last)) if record is not None], damaged


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record on a line of metrics.jsonl, a dictionary with an integer `step`; None for anything else."""
    try:
        record = parse_json(line)
    except ValueError:
        return None
    numbers = isinstance(record, dict) and all(isinstance(v, int | float | None) for v in record.values())
    return record if numbers and type(record.get("step")) is int else None


class Forward:
    """A listener that forwards everything to another one, for listeners that do something besides."""

    def __init__(self, inner: Listener) -> None:
        self.inner = inner

    def progress(self, record: Mapping[str, Any]) -> None:
        """Forward the numbers of a step."""
        self.inner.progress(record)

    def record(self, record: Mapping[str, Any]) -> None:
        """Forward a record."""
        self.inner.record(record)

    def say(self, sentence: str) -> None:
        """Forward a message."""
        self.inner.say(sentence)

    def close(self) -> None:
        """Close the other listener."""
        self.inner.close()


class TensorBoard(Forward):
    """Writes the numbers of records to TensorBoard."""

    def __init__(self, folder: Path, inner: Listener) -> None:
        from torch.utils.tensorboard import SummaryWriter

        super().__init__(inner)
        self.writer = SummaryWriter(str(folder))

    def record(self, record: Mapping[str, Any]) -> None:
        """Write every number under its name."""
        for key, value in record.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and key != "step":
                self.writer.add_scalar(key, value, record["step"])
        super().record(record)

    def close(self) -> None:
        """Flush, and close the other listener."""
        self.writer.close()
        super().close()
