"""Put a finished picture into place: a reader finds the old file or the new one, never half of one."""

import os
from contextlib import suppress
from pathlib import Path

from dragoman.errors import InputError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` beside `path` and rename it into place. InputError where that is not allowed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise InputError(
            f"{path} cannot be written ({error.strerror}); check that its folder exists and may be written to"
        ) from None
