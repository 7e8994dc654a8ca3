"""Read JSON files, and say in one sentence what is wrong with one."""

import json
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError


def read_object(path: Path, error: type[DragomanError], *, missing: str, damaged: str) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises an `error` that says `missing` if there is no such file, and what to do about one that cannot be read or is damaged.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(missing) from None
    except OSError as failure:
        raise error(f"{path} cannot be read ({failure.strerror}); check its permissions") from None
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise error(f"{path} is damaged; {damaged}")
    return table
