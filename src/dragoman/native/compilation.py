"""Compile the C++ extensions once for this machine, cache them in the user's cache folder, and load them."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from dragoman.machine.private_cache import CacheError, locked, private_folder, require_private

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


SILENT_SECONDS = 1.0
"""Compilation is reported after this many seconds."""


class NativeError(Exception):
    """A C++ extension cannot be used here."""


@dataclass(frozen=True)
class Part:
    """The source of one library."""

    name: str
    description: str
    """What it is, and roughly how long compilation takes."""
    operation: tuple[str, str]
    """Namespace and name of its first operation in torch."""
    headers: tuple[str, ...] = ()

    @property
    def sources(self) -> list[Path]:
        """Return its source files; the first is the one to compile."""
        return [Path(__file__).with_name(name) for name in (f"{self.name}.cpp", *self.headers)]


RECURRENCE = Part(
    "recurrence",
    "the recurrent loop for this machine, once (about 15 s)",
    ("dragoman_native", "forward"),
    ("arithmetic.h", "attention.h", "backward.h", "cells.h", "forward.h", "loop.h"),
)
LOSS = Part(
    "loss",
    "the loss of output layers for this machine, once (about 2 s)",
    ("dragoman_loss", "losses"),
    ("exponential.h", "loss.h"),
)
SEGMENTATION = Part(
    "segmentation",
    "the sampling of subwords for this machine, once (about 2 s)",
    ("dragoman_segmentation", "drop_merges"),
)
DECODING = Part(
    "decoding",
    "the inner loops of search for this machine, once (about 2 s)",
    ("dragoman_decoding", "multiply"),
    ("products.h", "likeliest.h", "exponential.h"),
)


def prepare(part: Part, say: Callable[[str], object] = lambda text: None) -> None:
    """Load a C++ extension, after compiling it if necessary; report through `say` if that takes over a second.

    Raises NativeError if it is unavailable; only speed is lost.
    """
    if not loaded(part):
        path = _compiled(part, say)
        try:
            torch.ops.load_library(path)
        except OSError as error:
            raise NativeError(
                f"the compiled library {path} cannot be loaded ({error}); delete it to compile it again"
            ) from None
        loaded.cache_clear()


@cache
def available(part: Part) -> bool:
    """Load a C++ extension if possible, and tell whether it is available.

    If compilation takes over a second, that is reported when standard error is a terminal; only `prepare` reports why an
    extension is unavailable.
    """
    try:
        prepare(part, _tell_terminal)
    except NativeError:
        return False
    return True


@cache
def loaded(part: Part) -> bool:
    """Tell whether a C++ extension is loaded."""
    namespace, operation = part.operation
    return hasattr(getattr(torch.ops, namespace), operation)


def find_compiler() -> str | None:
    """Return the command of a C++ compiler, or None."""
    return os.environ.get("CXX", "").strip() or shutil.which("g++") or shutil.which("c++")


def _compiled(part: Part, say: Callable[[str], object]) -> Path:
    """Return the compiled library for this source, this torch and this processor."""
    if sys.platform != "linux":
        raise NativeError(f"C++ extensions are compiled on Linux only, and this is {sys.platform}")
    compiler = find_compiler()
    if not compiler:
        raise NativeError("no C++ compiler (g++ or c++) was found")
    try:
        folder = private_folder("native", _fingerprint(part, compiler))
        path = folder / f"{part.name}.so"
        if not path.exists():
            with _announced(f"Compiling {part.description}.", say), locked(path.with_suffix(".lock")):
                if not path.exists():
                    _compile(part, compiler, path)
        require_private(path)
    except (OSError, CacheError) as error:
        raise NativeError(f"the cache folder for compiled code cannot be used: {error}") from None
    return path


@contextmanager
def _announced(sentence: str, say: Callable[[str], object]) -> Iterator[None]:
    """Report what is being done if it takes longer than a second."""
    timer = threading.Timer(SILENT_SECONDS, say, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell_terminal(sentence: str) -> None:
    """Print a message if standard error is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(sentence, file=sys.stderr, flush=True)


def _compile(part: Part, compiler: str, path: Path) -> None:
    """Run the compiler in a temporary folder next to `path`, and rename the result to it."""
    torch_home = Path(torch.__file__).parent
    includes = [torch_home / "include", torch_home / "include" / "torch" / "csrc" / "api" / "include"]
    libraries = ["-L", str(torch_home / "lib"), "-ltorch_cpu", "-lc10"]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        try:
            command = [*shlex.split(compiler), *FLAGS, *(f"-I{place}" for place in includes)]
            command += [str(part.sources[0]), "-o", str(made), *libraries]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except OSError as error:
            raise NativeError(
                f"the compiler {compiler} could not be started ({error.strerror}); set CXX to one that can, or unset it"
            ) from None
        except (ValueError, subprocess.TimeoutExpired) as error:
            raise NativeError(f"the compiler {compiler} did not finish: {error}") from None
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
            raise NativeError(f"the compiler {compiler} failed: {reason[:200]}")
        made.chmod(0o700)
        made.replace(path)


def _fingerprint(part: Part, compiler: str) -> str:
    """Return a hash of everything the library depends on; different machines may share a cache."""
    processor = Path("/proc/cpuinfo")
    features = sorted(
        {line for line in processor.read_text().splitlines() if line.startswith(("flags", "Features", "model name"))}
        if processor.exists()
        else ()
    )
    texts = [source.read_text(encoding="utf-8") for source in part.sources]
    dependencies = (texts, FLAGS, compiler, torch.__version__, torch.__file__)
    return hashlib.sha256(repr((dependencies, platform.machine(), features)).encode()).hexdigest()[:16]
