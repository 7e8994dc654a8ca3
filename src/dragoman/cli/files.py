"""The text files and the standard input that commands read, and the files they write."""

import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedIOBase, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.atomic import check_output, write_output
from dragoman.cli.console import note
from dragoman.data.lines import COMPRESSED, LONGEST_LINE, read_lines, without_mark
from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.inference.translator import Translator

TABLES = {".tsv": "tsv", ".jsonl": "jsonl", ".tmx": "tmx"}
"""Endings of files that hold both sides, and the setting that names such a file."""
STDIN = Path("-")
"""What stands for standard input in the place of a file."""
FORMS_OF_TEXT = "give two files that match line by line, or .tsv, .jsonl or .tmx files"
"""The advice about parallel text in another form."""


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a text file (plain, .gz, .xz or .zst), or of standard input for `-`."""
    if path == STDIN:
        return [line for chunk in standard_input(1 << 16) for line in chunk]
    return [without_mark(line, number) for number, line in enumerate(read_lines(path), 1)]


def read_aligned(*paths: Path) -> list[list[str]]:
    """Return the lines of several files that must have one line for each other. InputError names both counts."""
    if paths.count(STDIN) > 1:
        raise InputError("`-` is standard input, which can be only one of the files; name the others")
    read = [read_sentences(path) for path in paths]
    for path, lines in zip(paths, read, strict=True):
        if len(lines) != len(read[0]):
            raise InputError(
                f"{paths[0]} has {len(read[0])} lines but {path} has {len(lines)}; the files must match line by line"
            )
    if not read[0]:
        raise InputError(f"{paths[0]} is empty; give at least one sentence")
    return read


def check_languages(
    languages: tuple[str | None, str | None], source: Path | None, *targets: Path | None, known: Sequence[str] = ()
) -> None:
    """Refuse files whose names say that they are in the other language of a translation, or in another that the run has.

    >>> check_languages(("en", "fr"), Path("test.fr.gz"), Path("test.en"))
    Traceback (most recent call last):
    dragoman.errors.InputError: test.fr.gz looks like `fr`, but this run translates from `en` to `fr`; swap the files
    """
    own, other = languages
    sides = [(source, own, other), *((target, other, own) for target in targets)]
    named = [(path, language_of(path), own, other) for path, own, other in sides if path]
    wrong = [
        (path, found, own)
        for path, found, own, other in named
        if found != own and (found == other or (own is not None and found in known))
    ]
    if wrong:
        path, found, own = wrong[0]
        instead = "a file in another language" if own is None else f"one in `{own}`"
        swapped = len(named) == 2 and all(found == other for _, found, _, other in named)
        advice = "swap the files" if swapped else f"give {instead} in its place, or another run"
        raise InputError(f"{path} looks like `{found}`, but {_translates(*languages)}; {advice}")


def _translates(source: str | None, target: str | None) -> str:
    """Say between which languages is translated; that of the source may be unknown."""
    return f"this run translates{'' if source is None else f' from `{source}`'} to `{target}`"


def standard_input(most: int) -> Iterator[list[str]]:
    """Yield lines of standard input as they come, up to `most` at a time, never waiting for a full chunk.

    InputError names the line that is not UTF-8.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed; give sentences, for example with < FILE")
    if sys.stdin.isatty() and sys.stderr.isatty():
        note("Reading sentences from the terminal, one per line; Ctrl-D ends.")
    lines: queue.Queue[bytes | Exception | None] = queue.Queue(2 * most)
    stream = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    threading.Thread(target=_feed, args=(stream, lines), daemon=True).start()
    number, ended = 0, False
    while not ended:
        chunk: list[str] = []
        while len(chunk) < most and not ended and (not chunk or not lines.empty()):
            line = _wait_for(lines)
            if line is None:
                ended = True
                continue
            number += 1
            try:
                chunk.append(without_mark(_decode(line, number), number))
            except InputError:
                if chunk:
                    yield chunk  # the lines before are answered whenever they came
                raise
        if chunk:
            yield chunk


def given_or_standard_input(text: str | None, most: int) -> Iterator[tuple[list[str], int]]:
    """Yield the given text, or chunks of lines of standard input, with the number of their first line."""
    if text is not None:
        yield [text], 1
        return
    first = 1
    for chunk in standard_input(most):
        yield chunk, first
        first += len(chunk)


def previous_sentences(translator: "Translator", source: Path, documents: Path | None) -> list[list[str]] | None:
    """Return the sentences before each one in documents that a file names; None if no such file is given."""
    if documents is None:
        return None
    if not translator.previous:
        raise InputError("--documents is for document models, but this run translates sentence by sentence; remove it")
    sentences, names = read_aligned(source, documents)
    return translator.preceding(sentences, [name.split()[0] if name.strip() else None for name in names])


def check_apart(output: Path, inputs: Sequence[Path]) -> None:
    """Raise InputError, before the work begins, for a file that cannot be written, or that is one of those to read."""
    if any(output.exists() and path.exists() and output.samefile(path) for path in inputs):
        raise InputError(f"{output} is one of the files to read; name another file for what is written")
    check_output(output)


def check_report(path: Path) -> None:
    """Raise InputError if no report can be written there: what it is about takes long, and standard input is gone afterwards."""
    if path.suffix != ".html":
        raise InputError(f"{path} does not end in .html, but a report is an HTML page; name it so")
    check_output(path)


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write lines into a file that the user named."""
    write_output(path, "".join(f"{line}\n" for line in lines).encode("utf-8"))


def _feed(stream: RawIOBase | BufferedIOBase, lines: "queue.Queue[bytes | Exception | None]") -> None:
    """Put the lines of a stream into a queue, then the error that ended it if there is one, and None after the last.

    The stream is the one below Python's buffer, whose lock this thread, waiting for input, would hold when the program ends.
    """
    begun, size = [b""], 0
    try:
        while part := stream.read(1 << 16):
            first, *whole = part.split(b"\n")
            begun.append(first)
            size += len(first)
            if size > LONGEST_LINE:
                raise OverflowError
            if whole:
                lines.put(b"".join(begun))
                for line in whole[:-1]:
                    lines.put(line)
                begun, size = [whole[-1]], len(whole[-1])
        if size:
            lines.put(b"".join(begun))
    except (OSError, OverflowError) as error:
        lines.put(error)
    finally:
        lines.put(None)


def _wait_for(lines: "queue.Queue[bytes | Exception | None]") -> bytes | Exception | None:
    """Wait for the next line, and wake every half second: a Ctrl-C that came just before waiting does not end the wait."""
    while True:
        with suppress(queue.Empty):
            return lines.get(timeout=0.5)


def _decode(line: bytes | Exception, number: int) -> str:
    """Decode one line of standard input. InputError if it cannot be read."""
    match line:
        case OSError():
            raise InputError(f"standard input cannot be read after line {number - 1} ({line.strerror}); give a file")
        case OverflowError():
            raise InputError(
                f"line {number} of standard input is longer than {LONGEST_LINE >> 20} MiB; give text with one sentence per line"
            )
        case Exception():
            raise line
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"line {number} of standard input is not UTF-8; convert it first, for example with iconv"
        ) from None


def language_of(path: Path) -> str:
    """Return what the suffix of a file name says of its language.

    >>> language_of(Path("test.fr.gz")), language_of(Path("test.en.GZ"))
    ('fr', 'en')
    """
    name = path
    while name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.removeprefix(".")


def is_table(file: str) -> bool:
    """Tell by its name whether a file holds both sides of a corpus.

    >>> is_table("memory.tmx.gz"), is_table("train.en")
    (True, False)
    """
    return _kind_of(file) is not None


def corpora_of(
    files: Sequence[str], languages: tuple[str | None, str | None], columns: tuple[int, int] | None
) -> tuple[list[dict[str, Any]], tuple[str | None, str | None]]:
    """Return the settings of the corpora in files, and their languages: those given, or else what the names of files say.

    `columns` are those of both sides in .tsv files; without them, it is told which are read of more than two.

    >>> corpora_of(["train.en", "train.vi.gz"], (None, None), None)
    ([{'source': 'train.en', 'target': 'train.vi.gz'}], ('en', 'vi'))
    >>> corpora_of(["a.tsv", "b.tmx"], ("en", None), (1, 3))
    ([{'tsv': 'a.tsv', 'columns': (1, 3)}, {'tmx': 'b.tmx'}], ('en', None))
    """
    tables: list[dict[str, Any]] = [{kind: file} for file in files if (kind := _kind_of(file)) is not None]
    tabbed = [table for table in tables if "tsv" in table]
    if len(tables) != len(files) and (tables or len(files) != 2):
        raise InputError(FORMS_OF_TEXT)
    if columns is not None and (not tabbed or min(columns) < 0 or len({*columns}) < len(columns)):
        raise InputError(
            "--columns takes two columns of .tsv files, counted from 0 and not the same; correct it, or leave it out"
        )
    for table in tabbed:
        if columns is not None:
            table["columns"] = columns
        elif (count := 1 + next(read_lines(Path(table["tsv"]), lambda _: None), "").count("\t")) > 2:
            note(f"{table['tsv']} has {count} columns, of which the first two are read; --columns names others")
    if tables:
        return tables, languages
    source, target = (own or language_of(Path(file)) or None for own, file in zip(languages, files, strict=True))
    return [{"source": files[0], "target": files[1]}], (source, target)


def _kind_of(file: str) -> str | None:
    """Return the setting that names a file with both sides; None for a file of one side."""
    return next((kind for ending, kind in TABLES.items() if ending in Path(file.lower()).suffixes), None)
