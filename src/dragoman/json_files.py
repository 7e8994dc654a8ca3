"""Read JSON, and say in one sentence what is wrong with a file of it."""

import json
import os
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError
from dragoman.regular_files import open_file

LARGEST = 1 << 26
"""Maximum bytes of a file of JSON: the vocabularies of the largest models take 40 million."""


def parse_json(text: str | bytes) -> Any:
    """Return the value that JSON spells. Raises ValueError for anything else, and for one that is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_text(path: Path) -> str:
    """Return the text of a file. Raises OSError if it cannot be read, ValueError if it is too large or no UTF-8."""
    with open_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
        return stream.read().decode("utf-8")


def load_json(path: Path) -> Any:
    """Return the value in a file. Raises OSError if it cannot be read, ValueError if it holds no JSON."""
    return parse_json(read_text(path))


def read_object(path: Path, error: type[DragomanError], *, missing: str, damaged: str) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises an `error` that says `missing` if there is no such file, and what to do about one that cannot be read or is damaged.
    """
    try:
        table = load_json(path)
    except FileNotFoundError:
        raise error(missing) from None
    except OSError as failure:
        raise error(f"{path} cannot be read ({failure.strerror}); check its permissions") from None
    except ValueError:
        table = None
    if not isinstance(table, dict):
        raise error(f"{path} is damaged; {damaged}")
    return table
