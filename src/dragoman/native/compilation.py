"""Compiles the C++ parts once for this machine, keeps the result in the user's cache folder, and loads it."""

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
"""Seconds of compiling after which it is said."""


class NativeError(Exception):
    """Why a C++ part cannot be used here."""


@dataclass(frozen=True)
class Part:
    """What is compiled into one library."""

    name: str
    description: str
    """What it is, and about how long compiling takes."""
    operation: tuple[str, str]
    """Namespace and name under which torch knows the first of its operations."""
    headers: tuple[str, ...] = ()

    @property
    def sources(self) -> list[Path]:
        """The files it is made of; the first is the one to compile."""
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
    """Load a C++ part, compiled first where this machine has not done so; says so through `say` if it takes over a second.

    NativeError where it is unavailable: nothing but speed is lost.
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
    """Load a C++ part if possible, and tell whether it is there: for what is done in either case, faster with it.

    If it is compiled first, a terminal on standard error is told after a second; why it is unavailable only `prepare` says.
    """
    try:
        prepare(part, _tell_terminal)
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
        raise NativeError(f"C++ parts are compiled only on Linux, and this is {sys.platform}")
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
        raise NativeError(f"the cache folder of compiled parts cannot be used: {error}") from None
    return path


@contextmanager
def _announced(sentence: str, say: Callable[[str], object]) -> Iterator[None]:
    """Say what is being done if it takes longer than a second."""
    timer = threading.Timer(SILENT_SECONDS, say, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell_terminal(sentence: str) -> None:
    """Print a sentence where somebody waits for standard error."""
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
    dependencies = (texts, FLAGS, compiler, torch.__version__, torch.__file__)
    return hashlib.sha256(repr((dependencies, platform.machine(), features)).encode()).hexdigest()[:16]
