"""What is fuzzed: readers of files that others made. Each is given a whole folder in which one file was changed.

A case is the number of the file, whether the checksums that cover it are made to fit (a reader must not rely on them: who can
change a file can change those too), and the new content of the file.
"""

import json
import resource
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError

SECONDS = 20
"""Processor time after which a reader hangs."""
MEMORY = 3 << 30
"""Bytes that a reader may take, more than the process had before."""
LONGEST_SENTENCE = 1500
"""Maximum characters of a refusal."""
HEADER = 2
"""Bytes of a case before the content."""
NAMES = {
    "corpora": "corpora of all kinds, compressed too",
    "doctor": "the data doctor on corpora",
    "documents": "documents of all formats, and glossaries",
    "recipes": "recipes and arenas",
    "runs": "run folders",
    "ctranslate2": "exports for CTranslate2",
    "huggingface": "exports for Hugging Face, imported again",
    "pretrained": "pretrained models of all families",
    "archives": "pretrained models in .zip files",
    "kernels": "the C++ parts, under sanitizers",
}
"""What can be fuzzed: folders (see `readers.py`), and random shapes (see `kernels.py`)."""


class Hangs(BaseException):
    """A reader has taken too long."""


@dataclass(frozen=True)
class Target:
    """Something that reads a folder."""

    prepare: Callable[[Path], object]
    """Makes the intact folder, once; a path that does not exist yet is given."""
    read: Callable[[Path, str], object]
    """Reads a folder in which the file of this name was changed. Only a DragomanError may be raised."""
    seal: Callable[[Path, str], object] = lambda folder, name: None
    """Makes the checksums of a folder fit the changed file."""


@dataclass(frozen=True)
class Fault:
    """A case that was neither read nor refused in a sentence."""

    what: str
    """The error, and the last line of Dragoman's that raised it: faults of the same kind have the same."""
    details: str


def names_of(folder: Path) -> list[str]:
    """Return the names of all files in a folder, in order."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def cases_of(folder: Path) -> Iterator[bytes]:
    """Yield a case for each file of an intact folder, which changes nothing."""
    for number, name in enumerate(names_of(folder)):
        for sealed in (0, 1):
            yield bytes([number, sealed]) + (folder / name).read_bytes()


def name_in(case: bytes, folder: Path) -> str:
    """Return the name of the file that a case changes."""
    names = names_of(folder)
    return names[case[0] % len(names)]


def try_case(target: Target, case: bytes, *, intact: Path, work: Path) -> Fault | None:
    """Let a target read a case; return what went wrong."""
    if len(case) < HEADER:
        return None
    name = name_in(case, intact)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(intact, work)
    (work / name).write_bytes(case[HEADER:])
    if case[1] % 2:
        try:
            target.seal(work, name)
        except Exception:
            return None  # nothing that checksums could be made for
    try:
        with limits():
            target.read(work, name)
    except DragomanError as error:
        said = str(error)
        if "\n" in said or not said.strip() or len(said) > LONGEST_SENTENCE:
            return Fault(f"no sentence: {type(error).__name__} {_place(error)}", said)
    except (Exception, Hangs) as error:
        return Fault(f"{type(error).__name__} {_place(error)}", "".join(traceback.format_exception(error)))
    return None


@contextmanager
def limits() -> Iterator[None]:
    """Raise Hangs in what takes too long, and MemoryError in what takes too much."""

    def hang(*_: Any) -> None:
        raise Hangs

    before, handler = resource.getrlimit(resource.RLIMIT_DATA), signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_DATA, (_taken() + MEMORY, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _taken() -> int:
    """Return the bytes of data that this process has."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _place(error: BaseException) -> str:
    """Return the last line of Dragoman's that an error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/dragoman/" in frame.filename]
    return f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "outside"


def write_json(path: Path, table: Any) -> None:
    """Write JSON."""
    path.write_text(json.dumps(table), encoding="utf-8")
