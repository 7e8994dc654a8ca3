"""Translate a large file line by line into another, in blocks that any number of processes can share.

A block is a number of lines and a file of its own, whose name is the number of the block. It is written whole or not at all,
so a job that was stopped, or lost a process, does what is missing; in the end the blocks are joined in their order. What a line
becomes depends on its block alone, so the result is the same byte for byte, whoever translated what.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.atomic import check_output, replacing, write_bytes
from dragoman.data.lines import LONGEST_LINE
from dragoman.errors import InputError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs.translate_corpus import (
    CHUNK,
    Report,
    TranslationProgress,
    origin,
    remember,
)
from dragoman.machine.processes import for_one_process
from dragoman.regular_files import open_file
from dragoman.runs.lock import run_lock
from dragoman.text.frames import Between

ORIGIN = "origin.json"
"""File of the folder of blocks that says what they depend on."""


@dataclass(frozen=True)
class Block:
    """Lines of a file that are translated together."""

    number: int
    start: int
    """The byte at which it begins."""
    end: int
    lines: int
    before: int
    """The byte at which the block before it begins, whose last lines a document model reads."""


@dataclass(frozen=True)
class Bulk:
    """What is translated by what, into which file."""

    runs: tuple[Path, ...]
    source: Path
    out: Path
    decoding: dict[str, Any]
    """Settings of the search that differ from those of the run's recipe."""
    device: str = "auto"
    to: Between | None = None
    """Between which languages, for a run of several."""

    @property
    def folder(self) -> Path:
        """Return the folder of the blocks, beside the file that they become."""
        return self.out.with_name(f"{self.out.name}.blocks")

    def file(self, block: Block) -> Path:
        """Return the file of a block."""
        return self.folder / f"{block.number:09}.txt"

    def load(self) -> Translator:
        """Load what translates."""
        return Translator.load(*self.runs, device=self.device, **self.decoding)

    def between(self, languages: Between) -> "Bulk":
        """Return the same job between languages that were chosen."""
        return replace(self, to=languages)

    def lines(self, start: int, end: int) -> list[str]:
        """Read the lines between two bytes of the source."""
        with open_file(self.source) as file:
            file.seek(start)
            text = file.read(end - start).decode()
        return text.removesuffix("\n").split("\n") if text else []


Share = Callable[[Bulk, Sequence[Block]], Iterable[int]]
"""Has blocks translated and written, in any order, and yields the number of each that is done."""


class BlockTranslator:
    """Translates blocks, and writes them."""

    def __init__(self, job: Bulk, translator: Translator | None = None) -> None:
        self.job = job
        self.translator = translator or job.load()

    def write(self, block: Block) -> None:
        """Translate a block and write its file, unless it is there already."""
        path = self.job.file(block)
        if path.exists():
            return
        before = self.job.lines(block.before, block.start) if self.translator.previous else []
        lines = self.job.lines(block.start, block.end)
        previous = self.translator.preceding([*before, *lines])[len(before) :]
        first = block.number * CHUNK + 1
        found = self.translator.translate(lines, first=first, previous=previous, to=self.job.to)
        write_bytes(path, "".join(f"{one.text}\n" for one in found).encode())


def in_this_process(translator: Translator) -> Share:
    """Return what translates blocks one after the other."""

    def share(job: Bulk, blocks: Sequence[Block]) -> Iterator[int]:
        here = BlockTranslator(job, translator)
        for block in blocks:
            here.write(block)
            yield block.number

    return share


@for_one_process
def translate_file(
    job: Bulk, translator: Translator, share: Share, *, resume: bool = False, report: Report | None = None
) -> int:
    """Translate each line of a file, and return their number; `translator` is what the job would load.

    Everything is checked before anything is translated. Blocks that are done stay in `job.folder` until the whole file is
    written, and with `resume` a stopped job does those that are missing. Raises RunError if there are translations already,
    InputError for a source that cannot be read or a line that cannot be translated.
    """
    if job.out.exists():
        raise RunError(f"{job.out} already exists; choose another file with --out, or delete it")
    check_output(job.out)
    blocks = find_blocks(job.source)
    _check_lengths(job, translator, blocks)
    about = origin(job.runs, translator, [job.source]) | {"languages": list(job.to or ()), "lines": CHUNK}
    with run_lock(job.folder):
        remember(job.folder / ORIGIN, about, resume=resume)
        missing = [block for block in blocks if not job.file(block).exists()]
        already = sum(block.lines for block in blocks) - sum(block.lines for block in missing)
        _watch(share(job, missing), blocks, already, report=report or (lambda _: None))
        _join(job, blocks)
    shutil.rmtree(job.folder, ignore_errors=True)
    return sum(block.lines for block in blocks)


def find_blocks(path: Path) -> list[Block]:
    """Divide a file into blocks. InputError if it cannot be read, is compressed, or has a line that is no text."""
    if path.suffix in (".gz", ".xz", ".zst"):
        raise InputError(f"{path} is compressed; decompress it first, so that each process can read its lines alone")
    blocks: list[Block] = []
    start = before = lines = number = 0
    try:
        with open_file(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number, lines = number + 1, lines + 1
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        f"line {number} of {path} is longer than {LONGEST_LINE >> 20} MiB; give text with one sentence per line"
                    )
                line.decode()
                if lines == CHUNK:
                    blocks.append(Block(len(blocks), start, file.tell(), lines, before))
                    before, start, lines = start, file.tell(), 0
            if lines:
                blocks.append(Block(len(blocks), start, file.tell(), lines, before))
    except UnicodeDecodeError:
        raise InputError(f"line {number} of {path} is not UTF-8; convert it first, for example with iconv") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give the path of a text file") from None
    if not blocks:
        raise InputError(f"{path} is empty; give at least one sentence")
    return blocks


def _check_lengths(job: Bulk, translator: Translator, blocks: Sequence[Block]) -> None:
    """Raise InputError for the first line that is too long for the models, before hours of work rather than after."""
    if all(model.source_positions is None for model in translator.models):
        return
    for block in blocks:
        lines = job.lines(block.start, block.end)
        translator.requests(lines, previous=[[]] * len(lines), first=block.number * CHUNK + 1, to=job.to)


def _watch(done: Iterable[int], blocks: Sequence[Block], already: int, *, report: Report) -> None:
    """Report the progress after each block."""
    lines, begin = already, time.monotonic()
    for number in done:
        lines += blocks[number].lines
        rate = (lines - already) / max(time.monotonic() - begin, 1e-9)
        report(TranslationProgress(lines, sum(block.lines for block in blocks), rate))


def _join(job: Bulk, blocks: Sequence[Block]) -> None:
    """Write the file from its blocks. RunError if one of them is missing or has not as many lines as its source."""
    with replacing(job.out) as temporary, temporary.open("wb") as whole:
        for block in blocks:
            try:
                content = job.file(block).read_bytes()
            except FileNotFoundError:
                content = b""
            if content.count(b"\n") != block.lines or not content.endswith(b"\n"):
                raise RunError(
                    f"{job.file(block)} is missing or damaged; delete it, and run the same command with --resume to make it again"
                )
            whole.write(content)
        whole.flush()
        os.fsync(whole.fileno())
