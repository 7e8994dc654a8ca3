"""A disk that fails: from some write on, every write to a folder raises what a full or read-only disk raises."""

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch


class Disk:
    """Counts the writes below a folder, and fails from one of them on."""

    def __init__(self, folder: Path, fails_at: int | None = None, number: int = 0) -> None:
        self.folder, self.fails_at, self.number = folder.resolve(), fails_at, number
        self.writes = 0

    def write(self, path: Any) -> None:
        """Count a write, or raise the error."""
        if isinstance(path, int) or not Path(os.fsdecode(path)).absolute().is_relative_to(self.folder):
            return
        if self.fails_at is not None and self.writes >= self.fails_at:
            raise OSError(self.number, os.strerror(self.number), str(path))
        self.writes += 1

    def watched(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        """Count an operation that writes to its first argument."""

        def operate(path: Any, *arguments: Any, **options: Any) -> Any:
            self.write(path)
            return operation(path, *arguments, **options)

        return operate

    def opening(self, opened: Callable[..., Any]) -> Callable[..., Any]:
        """Count what is opened to be written."""

        def operate(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if set(mode) & set("wax+"):
                self.write(path)
            return opened(path, mode, *arguments, **options)

        return operate

    def creating(self, opened: Callable[..., Any]) -> Callable[..., Any]:
        """Count what is created by the system's own call."""

        def operate(path: Any, flags: int, *arguments: Any, **options: Any) -> Any:
            if flags & os.O_CREAT:
                self.write(path)
            return opened(path, flags, *arguments, **options)

        return operate

    @contextmanager
    def watching(self) -> Iterator["Disk"]:
        """Watch, and fail, within a `with` block."""
        with (
            patch.object(os, "replace", self.watched(os.replace)),
            patch.object(os, "mkdir", self.watched(os.mkdir)),
            patch.object(os, "open", self.creating(os.open)),
            patch.object(io, "open", self.opening(io.open)),
            patch.object(builtins, "open", self.opening(builtins.open)),
        ):
            yield self
