"""Private folders for compiled code: no other user may write there, because code loaded from there runs as you."""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path


class CacheError(Exception):
    """A folder cannot be used to store code."""


def private_folder(*names: str) -> Path:
    """Return a folder of the user's cache that only the user can write to; create it if necessary.

    The cache is `XDG_CACHE_HOME/dragoman`, by default `~/.cache/dragoman`. Raises CacheError if that is impossible.
    """
    try:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = (given if given.is_absolute() else Path.home() / ".cache").joinpath("dragoman", *names)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise CacheError(f"there is no cache folder for compiled code: {error}") from None
    require_private(folder)
    return folder


def require_private(path: Path) -> None:
    """Raise CacheError for a file or folder that others can write to, and for a link, which may lead to one."""
    try:
        status = path.lstat()
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error}") from None
    if hasattr(os, "getuid") and (status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o022):
        raise CacheError(f"{path} is writable by other users, who could put code there that runs as you")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Allow one process at a time, with a lock file in a private folder; a lock ends with the process that holds it.

    The file is never truncated, nor opened through a link. Raises OSError if it is one.
    """
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


COMPILER_CACHE = "TORCHINDUCTOR_CACHE_DIR"
"""Environment variable with the folder of torch's compiler, which loads code without checking its owner."""


def set_compiler_cache(environment: MutableMapping[str, str]) -> None:
    """Give torch's compiler a private folder, unless the environment names one. Raises CacheError if that is impossible.

    By default torch creates a folder with a predictable name in the shared temporary folder, even if nothing is compiled.
    """
    if COMPILER_CACHE not in environment:
        environment[COMPILER_CACHE] = str(private_folder("inductor"))


def require_compiler_cache() -> None:
    """Make torch's compiler load code from a private folder only: its default is replaced, any other must be private.

    Raises CacheError if it is not.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    if os.environ.get(COMPILER_CACHE) == os.path.abspath(default_cache_dir()):
        del os.environ[COMPILER_CACHE]  # set by torch on import
    set_compiler_cache(os.environ)
    folder = Path(os.environ[COMPILER_CACHE])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_private(folder)
