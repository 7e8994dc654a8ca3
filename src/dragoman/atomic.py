"""Write files atomically: a reader, or a run after a crash, finds the old file or the new one, never half of one."""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EISDIR, ENOSPC
from pathlib import Path
from stat import S_IMODE

from dragoman.errors import InputError

SUFFIX = ".partial"
"""Suffix of every temporary file, whose name also starts with a dot."""
_TOKEN = 4
"""Number of random bytes in its name."""
_NAMED = 200
"""Number of bytes of a name that its temporary file has too; most file systems take names of 255."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, and rename what was written there to `path`.

    The temporary path may become a file or a folder; a folder replaces an existing one. It is flushed to disk before it is
    renamed. If anything is raised, the old content stays, nothing temporary is left, and the exception reaches the caller; an
    OSError that names no file, as that of a full disk, or the temporary one, names `path`.
    """
    temporary = _temporary(path)
    try:
        yield temporary
        if temporary.is_dir():
            _replace_folder(temporary, path)
        else:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            os.replace(temporary, path)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError):
            error.filename = str(error.filename or path).replace(str(temporary), str(path))
        raise


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically. Raises OSError if that is impossible."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically. Raises OSError if that is impossible."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_output(path: Path, content: bytes) -> None:
    """Write a file that the user named. Raises InputError if that is impossible."""
    with replacing_output(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing_output(path: Path) -> Iterator[Path]:
    """Replace a file that the user named as `replacing` does. Raises InputError if that is impossible."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise _refusal(path, error) from None


def check_output(path: Path) -> None:
    """Raise InputError if a file that the user named cannot be written: for commands that work for long before they do."""
    temporary = _temporary(path)
    try:
        temporary.touch()
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except OSError as error:
        raise _refusal(path, error) from None
    finally:
        _remove(temporary)


def _refusal(path: Path, error: OSError) -> InputError:
    """Return the error that says why a file cannot be written."""
    is_full = error.errno in (ENOSPC, EDQUOT)
    advice = "make room, or choose another place" if is_full else "check that its folder exists and is writable"
    return InputError(f"{path} cannot be written ({error.strerror}); {advice}")


def give_usual_mode(path: Path) -> None:
    """Give a file the permissions that new files get here; safetensors lets nobody but its owner read what it writes."""
    example = _temporary(path)
    try:
        example.touch()
        path.chmod(S_IMODE(example.stat().st_mode))
    finally:
        _remove(example)


def remove_temporary_files(folder: Path) -> None:
    """Delete temporary files that a killed process left in `folder`, which no other process may be writing to."""
    for path in folder.glob(f".*{SUFFIX}"):
        _remove(path)


def left_behind(path: Path) -> list[Path]:
    """Return the temporary names of `path` that exist: killed processes left them, or other processes are writing them."""
    token = re.compile(rf"{re.escape(_stem(path))}\.[0-9a-f]{{{2 * _TOKEN}}}{re.escape(SUFFIX)}")
    return [one for one in path.parent.iterdir() if token.fullmatch(one.name)]


def _replace_folder(temporary: Path, path: Path) -> None:
    """Rename a folder to `path`; an existing folder is moved out of the way first, and back if renaming fails."""
    if not path.exists():
        os.replace(temporary, path)
        return
    old = _temporary(path)
    os.replace(path, old)
    try:
        os.replace(temporary, path)
    except BaseException:
        os.replace(old, path)
        raise
    _remove(old)


def _temporary(path: Path) -> Path:
    """Return a new name in the folder of `path`."""
    return path.parent / f"{_stem(path)}.{secrets.token_hex(_TOKEN)}{SUFFIX}"


def _stem(path: Path) -> str:
    """Return what the temporary names of `path` begin with."""
    return f".{os.fsencode(path.name)[:_NAMED].decode(errors='ignore')}"


def _remove(path: Path) -> None:
    """Delete a file or a folder if it exists."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
