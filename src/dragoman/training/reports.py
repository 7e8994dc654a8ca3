"""What training tells: records in metrics.jsonl, a live progress line, and optional TensorBoard events."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dragoman.atomic import write_text


@runtime_checkable
class Listener(Protocol):
    """Hears every step and every record of training."""

    def progress(self, record: Mapping[str, Any]) -> None:
        """Hear of one step: step, loss, perplexity, learning_rate, tokens_per_second, padding, share, seconds_left."""
        ...

    def record(self, record: Mapping[str, Any]) -> None:
        """Hear of a record that also goes to metrics.jsonl."""
        ...

    def say(self, sentence: str) -> None:
        """Hear a sentence for the user."""
        ...

    def close(self) -> None:
        """Hear that training ended."""
        ...


class Silent:
    """Hears everything and says nothing."""

    def progress(self, record: Mapping[str, Any]) -> None:
        """Do nothing."""

    def record(self, record: Mapping[str, Any]) -> None:
        """Do nothing."""

    def say(self, sentence: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class MetricsFile:
    """metrics.jsonl: one JSON object a line, each with the step it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one record. Numbers that are not finite are written as null."""
        clean = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in record.items()
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean) + "\n")

    def truncate_after(self, step: int) -> None:
        """Drop records of steps after `step`, which a resumed run will write again."""
        if self.path.exists():
            kept = [record for record in self.read() if record.get("step", 0) <= step]
            write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))

    def read(self) -> list[dict[str, Any]]:
        """Return the records; a last line cut short by a crash is left out."""
        if not self.path.exists():
            return []
        records = []
        for line in self.path.read_text(encoding="utf-8").split("\n"):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            records.append(record)
        return records


class TensorBoard:
    """Passes numbers of records on to TensorBoard."""

    def __init__(self, folder: Path, inner: Listener) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.inner = inner
        self.writer = SummaryWriter(str(folder))

    def progress(self, record: Mapping[str, Any]) -> None:
        """Pass on."""
        self.inner.progress(record)

    def record(self, record: Mapping[str, Any]) -> None:
        """Write every number under its name."""
        for key, value in record.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and key != "step":
                self.writer.add_scalar(key, value, record["step"])
        self.inner.record(record)

    def say(self, sentence: str) -> None:
        """Pass on."""
        self.inner.say(sentence)

    def close(self) -> None:
        """Flush and pass on."""
        self.writer.close()
        self.inner.close()
