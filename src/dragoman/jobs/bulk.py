"""Translate a large file line by line into another; a job that was stopped can be continued."""

import os
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from dragoman.atomic import check_output
from dragoman.data.corpus import Pair
from dragoman.data.lines import read_lines, without_mark
from dragoman.errors import InputError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs.translate_corpus import (
    ORIGIN,
    CorpusTranslation,
    Report,
    TranslateRest,
    check_begun,
    check_lengths,
    check_plain,
    only_best,
    origin,
    remember,
    translate_corpora,
)
from dragoman.machine.processes import for_one_process
from dragoman.runs.lock import run_lock
from dragoman.text.frames import Between


def folder_of(out: Path) -> Path:
    """Return the folder of what is translated so far, beside the file that it becomes."""
    return out.with_name(f"{out.name}.unfinished")


@for_one_process
def translate_file(
    translator: Translator,
    runs: Sequence[Path],
    source: Path,
    *,
    out: Path,
    to: Between | None = None,
    resume: bool = False,
    report: Report | None = None,
    rest: TranslateRest | None = None,
) -> int:
    """Translate each line of a file into the same line of another, with the translator of `runs`; return their number.

    Everything is checked before anything is translated. What is done stays in a folder beside `out` until all is, and with
    `resume` a stopped job goes on from there. `rest` translates elsewhere than in this process. Raises RunError if there are
    translations already, InputError for a source that cannot be read or a line that cannot be translated.
    """
    if out.exists():
        raise RunError(f"{out} already exists; choose another file with --out, or delete it")
    check_plain(out)
    check_output(out)
    if source.is_dir():
        raise InputError(f"{source} is a directory; give the path of a text with one sentence per line")
    if not source.is_file():
        raise InputError(f"there is no file {source}; give the path of a text with one sentence per line")
    folder = folder_of(out)
    check_begun(out, folder.exists(), resume=resume)
    translator.check_dictionary(translator.settings)
    corpus = lines_of(source, folder / "translations", to=to)
    count = sum(1 for _ in corpus.pairs())
    if not count:
        raise InputError(f"{source} is empty; give at least one sentence")
    check_lengths(translator, [corpus])
    about = origin(runs, translator, [source]) | {"languages": list(to or ())}
    with run_lock(folder):
        remember(folder / ORIGIN, about, resume=resume)
        translate_corpora(translator, [corpus], only_best, report=report, rest=rest)
        os.replace(corpus.path, out)
    shutil.rmtree(folder, ignore_errors=True)
    return count


def lines_of(source: Path, path: Path, *, to: Between | None) -> CorpusTranslation:
    """Return the lines of a file as a corpus, whose translations go into `path`, one per line."""
    return CorpusTranslation(partial(_pairs, source), path, line=_text, to=to)


def _pairs(source: Path) -> Iterator[Pair]:
    """Yield the lines of a file as sentences without translations; blank ones separate documents."""
    for number, read in enumerate(read_lines(source), 1):
        line = without_mark(read, number)
        yield Pair(line, "", f"{source}, line {number}", document=str(source) if line.strip() else None)


def _text(row: dict[str, object]) -> str:
    """Return the translation alone, on one line."""
    return str(row["target"]).replace("\n", " ")
