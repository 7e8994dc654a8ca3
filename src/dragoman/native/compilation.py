"""Compiles the C++ parts once for this machine, keeps the result in the user's cache folder, and loads it."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

FLAGS = (
    "-O3",
    "-march=native",
    "-std=c++20",
    "-fopenmp",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)


class NativeError(Exception):
    """Why a C++ part cannot be used here."""


@dataclass(frozen=True)
class Part:
    """What is compiled into one library."""

    name: str
    about: str
    """What it is, and about how long compiling takes."""
    operation: tuple[str, str]
    """Namespace and name under which torch knows the first of its operations."""
    headers: tuple[str, ...] = ()

    @property
    def sources(self) -> list[Path]:
        """The files it is made of, the one to compile first."""
        return [Path(__file__).with_name(name) for name in (f"{self.name}.cpp", *self.headers)]


RECURRENCE = Part(
    "recurrence",
    "the recurrent loop for this machine, once (about 15 s)",
    ("dragoman_native", "forward"),
    ("arithmetic.h", "attention.h", "backward.h", "cells.h", "exponential.h", "forward.h", "loop.h", "loss.h"),
)
DECODING = Part(
    "decoding",
    "what search does for this machine, once (about 2 s)",
    ("dragoman_decoding", "multiply"),
    ("products.h", "likeliest.h", "exponential.h"),
)


def prepare(part: Part, say: Callable[[str], object] = lambda text: None) -> None:
    """Load a C++ part, compiled first where this machine has not done so; says that it compiles through `say`.

    NativeError where it cannot be had: nothing but speed is lost.
    """
    if not loaded(part):
        path = _compiled(part, say)
        try:
            torch.ops.load_library(path)
        except OSError as error:
            raise NativeError(
                f"the compiled library {path} cannot be loaded ({error}); delete it to compile it anew"
            ) from None
        loaded.cache_clear()


@cache
def available(part: Part) -> bool:
    """Load a C++ part if it can be had, and tell whether it is there: for what is done in either case, sooner with it.

    Nothing is said of it, neither while it compiles nor why it cannot be had; `prepare` says both.
    """
    try:
        prepare(part)
    except NativeError:
        return False
    return True


@cache
def loaded(part: Part) -> bool:
    """Tell whether a C++ part can be called."""
    namespace, operation = part.operation
    return hasattr(getattr(torch.ops, namespace), operation)


def find_compiler() -> str | None:
    """Return the command of a C++ compiler, or None."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")


def _compiled(part: Part, say: Callable[[str], object]) -> Path:
    """Return the library of a part for this source, this torch and this processor."""
    if sys.platform != "linux":
        raise NativeError(f"C++ parts are compiled on Linux alone, and this is {sys.platform}")
    compiler = find_compiler()
    if not compiler:
        raise NativeError("there is no C++ compiler here (g++ or c++)")
    try:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        home = given if given.is_absolute() else Path.home() / ".cache"
        path = home / "dragoman" / "native" / _fingerprint(part, compiler) / f"{part.name}.so"
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(path.with_suffix(".lock")):
                if not path.exists():
                    say(f"Compiling {part.about}.")
                    _compile(part, compiler, path)
        strangers = [place for place in (path.parent, path) if not _is_ours(place)]
    except (OSError, RuntimeError) as error:
        raise NativeError(f"the cache folder of compiled parts cannot be used: {error}") from None
    if strangers:
        raise NativeError(f"others may write to {strangers[0]}, and what is loaded from there runs as you")
    return path


def _is_ours(place: Path) -> bool:
    """Tell whether nobody but this user, or root, can have put there what is there."""
    about = place.stat()
    return about.st_uid in (os.getuid(), 0) and not about.st_mode & 0o022


def _compile(part: Part, compiler: str, path: Path) -> None:
    """Run the compiler beside `path` and rename the result into its place."""
    torch_home = Path(torch.__file__).parent
    includes = [torch_home / "include", torch_home / "include" / "torch" / "csrc" / "api" / "include"]
    libraries = ["-L", str(torch_home / "lib"), "-ltorch_cpu", "-lc10"]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        try:
            command = [*shlex.split(compiler), *FLAGS, *(f"-I{place}" for place in includes)]
            command += [str(part.sources[0]), "-o", str(made), *libraries]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise NativeError(f"the compiler {compiler} did not finish: {error}") from None
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
            raise NativeError(f"the compiler {compiler} refused the C++ parts: {reason[:200]}")
        made.chmod(0o700)
        made.replace(path)


def _fingerprint(part: Part, compiler: str) -> str:
    """Return a name that changes with all that the library depends on; caches may be shared by different machines."""
    processor = Path("/proc/cpuinfo")
    features = sorted(
        {line for line in processor.read_text().splitlines() if line.startswith(("flags", "Features", "model name"))}
        if processor.exists()
        else ()
    )
    texts = [source.read_text(encoding="utf-8") for source in part.sources]
    about = (texts, FLAGS, compiler, torch.__version__, torch.__file__)
    return hashlib.sha256(repr((about, platform.machine(), features)).encode()).hexdigest()[:16]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time in; a lock goes with the process that holds it."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
