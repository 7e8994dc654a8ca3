"""The checksums of a run's files, so that one that was damaged, exchanged or lost is noticed wherever it is read.

checksums.json in a run folder gives each file the checksums that it may have: one, or two while it is being replaced, so that a
process may be killed at any moment. A checksum is the SHA-256 of the bytes; of weights, the one in their header, which
`training/checkpoint.py` compares with their content; of a file that grows, that of its beginning, with the length of it. Runs of
releases that kept no checksums have no such file, and theirs are read as they are.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from dragoman.atomic import replacing, write_text
from dragoman.data.checksums import file_checksum, weights_digest
from dragoman.errors import DamagedError, RunError
from dragoman.json_files import parse_json, read_text
from dragoman.regular_files import NotAFileError, open_file

LEDGER = "checksums.json"
"""File of a run folder with the checksums of all others."""
ABSENT = ""
"""The checksum of a file that is not there."""
CHECKSUM = "checksum"
"""Entry of a sealed table: the checksum of all others."""
ATTEMPTS = 3
"""How often a file is compared that another process may be replacing."""

_SUM = re.compile(r"[^:]*|[0-9a-f]{64}:[0-9]{1,18}")
"""A checksum of a whole file, or of the beginning of one with its length."""

Sums = dict[str, list[str]]
"""The checksums that each file may have, by its path in the run."""


def digest(value: Any) -> str:
    """Return a checksum of JSON data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()


def sealed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with a checksum of itself, which `is_sealed` compares."""
    return {**table, CHECKSUM: digest(dict(table))}


def is_sealed(table: Mapping[str, Any]) -> bool:
    """Tell whether a table is what `sealed` returned.

    >>> is_sealed(sealed({"a": 1})), is_sealed(sealed({"a": 1}) | {"a": 2})
    (True, False)
    """
    return table.get(CHECKSUM) == digest({name: value for name, value in table.items() if name != CHECKSUM})


def recorded(run: Path) -> Sums | None:
    """Return the checksums of a run's files; None if it has none. Raises RunError if checksums.json is damaged."""
    path = run / LEDGER
    try:
        text = read_text(path)
        files = dict(parse_json(text)["files"])
        if text != _text(files) or not all(_is_entry(name, sums) for name, sums in files.items()):
            raise ValueError
        return files
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise RunError(
            f"{path} is damaged; restore it from an intact copy, or delete it: the other files are then read without it"
        ) from None


@contextmanager
def replacing_recorded(run: Path, path: Path, *, grows: bool = False) -> Iterator[Path]:
    """Replace the file `path` of a run as `atomic.py::replacing` does, and record its new checksum.

    Until it is renamed, the old checksum counts too. Of a file that `grows`, what is appended later needs no record.
    """
    name = name_of(run, path)
    with replacing(path) as temporary:
        yield temporary
        new = _beginning(temporary) if grows else checksum(temporary)
        with _changing(run) as files:
            files[name] = list(dict.fromkeys([*files.get(name, [checksum(path)]), new]))
    with suppress(OSError), _changing(run) as files:  # both may stand there until the disk has space again
        files[name] = [new]


def write_recorded(run: Path, path: Path, text: str, *, grows: bool = False) -> None:
    """Write a UTF-8 text file of a run atomically, with its checksum. Raises OSError if that is impossible."""
    with replacing_recorded(run, path, grows=grows) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_recorded(run: Path, path: Path) -> None:
    """Delete a file of a run and its checksum."""
    name = name_of(run, path)
    with _changing(run) as files:
        files[name] = [*files.get(name, []), ABSENT]
    path.unlink(missing_ok=True)
    with suppress(OSError), _changing(run) as files:
        del files[name]


def record(run: Path, paths: Iterable[Path]) -> None:
    """Record the checksums of files of a run as they are now."""
    found = {name_of(run, path): [checksum(path)] for path in paths}
    with _changing(run) as files:
        files |= found


def record_growing(run: Path, path: Path) -> None:
    """Record what a file that grows, if it is there, holds so far; what is appended later needs no record."""
    if path.exists():
        with _changing(run) as files:
            files[name_of(run, path)] = [_beginning(path)]


def check(run: Path, *paths: Path) -> None:
    """Raise DamagedError, which names it, for a file of a run that is missing, or is not the one that was saved there.

    Files of which no checksum is recorded are left alone.
    """
    unlike = list(paths)
    for _ in range(ATTEMPTS):
        files = recorded(run) or {}
        unlike = [path for path in unlike if not matches(path, files.get(name_of(run, path)))]
        if not unlike:
            return
    if not unlike[0].exists():
        raise DamagedError(f"{unlike[0]} is missing; restore it from an intact copy")
    raise DamagedError(
        f"{unlike[0]} is damaged, or not the file that was saved there (its checksum is not that in {LEDGER}); restore it from "
        "an intact copy"
    )


def matches(path: Path, allowed: Iterable[str] | None) -> bool:
    """Tell whether a file has one of the checksums that it may have; anything may stand where none are known."""
    if allowed is None:
        return True
    found = checksum(path)
    return any(one == (_beginning(path, int(one.partition(":")[2])) if ":" in one else found) for one in allowed)


def checksum(path: Path) -> str:
    """Return the checksum of a file's content: of weights, the one in their header."""
    try:
        return (weights_digest(path) if _holds_weights(path) else None) or file_checksum(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, NotAFileError):
        return ABSENT


def name_of(run: Path, path: Path) -> str:
    """Return the name of a file in checksums.json.

    >>> name_of(Path("run"), Path("run/training/last.safetensors"))
    'training/last.safetensors'
    """
    return path.absolute().relative_to(run.absolute()).as_posix()


def _is_entry(name: str, sums: object) -> bool:
    """Tell whether checksums.json may hold this: a name of a file in the folder itself, and its checksums.

    >>> _is_entry("training/last.safetensors", ["ab"]), _is_entry("training/../../other", ["ab"]), _is_entry("a", ["ab:-1"])
    (True, False, False)
    """
    path = PureWindowsPath(name)  # which knows the separators of all systems
    inside = path.parts and not path.anchor and ".." not in path.parts and "\0" not in name
    return bool(inside) and isinstance(sums, list) and all(isinstance(one, str) and _SUM.fullmatch(one) for one in sums)


def _holds_weights(path: Path) -> bool:
    """Tell whether a file, or the temporary one that becomes it, holds tensors."""
    return ".safetensors" in path.name


def _beginning(path: Path, length: int | None = None) -> str:
    """Return the checksum of the first bytes of a file, or of all that are there, with their number."""
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(size if length is None else min(length, size))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, NotAFileError):
        return ABSENT
    return f"{hashlib.sha256(content).hexdigest()}:{len(content)}"


@contextmanager
def _changing(run: Path) -> Iterator[Sums]:
    """Yield the checksums of a run to be changed, and write them; other processes that do so wait."""
    with _alone(run):
        files = recorded(run) or {}
        yield files
        write_text(run / LEDGER, _text(files))


def _text(files: Sums) -> str:
    """Return the text of checksums.json."""
    return json.dumps(sealed({"files": files}), indent=1, sort_keys=True) + "\n"


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    """Let one process at a time change the checksums of a run, where the system can; a lock ends with its process."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder = os.open(run, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network folders cannot
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
