"""Open files that end. What a name stands for may be a pipe, on which a reader waits for ever, or a device without an end."""

import os
import stat
from errno import EINVAL, EISDIR
from io import BufferedReader
from pathlib import Path

LONGEST_NAME = 255
"""Bytes of the longest name that file systems take."""


class NotAFileError(OSError):
    """A path that leads to a pipe, a device or a socket."""


def open_file(path: Path) -> BufferedReader:
    """Open a file to read its bytes. Raises OSError for anything else, such as a pipe, a device or a folder."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _require(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def require_file(path: Path) -> None:
    """Raise OSError unless a path leads to a file that may be read, for libraries that open it themselves."""
    open_file(path).close()


def is_name(name: str) -> bool:
    """Tell whether a name can only refer to a file in the folder itself, and file systems allow it.

    >>> is_name("a.json"), is_name("../a.json"), is_name("/a.json"), is_name(""), is_name("a" * 256)
    (True, False, False, False, False)
    """
    short = len(name.encode("utf-8", "surrogatepass")) <= LONGEST_NAME
    return name not in ("", ".", "..") and not set(name) & set("/\\\0:") and short


def is_utf8(path: Path) -> bool:
    r"""Tell whether a path is UTF-8 text, as a library needs it that opens files itself.

    >>> is_utf8(Path("tệp")), is_utf8(Path("t\udce9p"))
    (True, False)
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _require(mode: int, path: Path) -> None:
    """Raise OSError unless a mode is that of a file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise NotAFileError(EINVAL, "it is a pipe or a device, not a file", str(path))
