"""Sentence pairs from files, one at a time."""

import hashlib
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.data.lines import read_lines
from dragoman.data.settings import (
    CorpusSettings,
    DataSettings,
    HoldOutSettings,
    JsonSettings,
    LinesSettings,
    PhrasebookSettings,
    TsvSettings,
)
from dragoman.errors import CorpusError
from dragoman.text.normalize import normalize


class Pair(NamedTuple):
    """A sentence, its translation, and where they stand: "train.en, line 7"."""

    source: str
    target: str
    place: str


def read_pairs(corpus: CorpusSettings, data: DataSettings) -> Iterator[Pair]:
    """Read a corpus pair by pair, in constant memory; `corpus.repeat` is left to the reader.

    CorpusError names file and line where the corpus is missing, unreadable, not parallel or empty.
    """
    count = 0
    for pair in _read(corpus, data):
        count += 1
        if corpus.hold_out is None or is_kept(pair.source, corpus.hold_out):
            yield pair
    if count == 0:
        raise CorpusError(f"{_name(corpus)} holds no sentence pairs; give a corpus that does")


def is_kept(source: str, settings: HoldOutSettings) -> bool:
    """Tell whether the part of the corpus holds the pairs of this source sentence.

    >>> is_kept("Hello !", HoldOutSettings(keep="held")), is_kept("Hello\\u00a0!", HoldOutSettings(keep="rest"))
    (False, True)
    """
    digest = hashlib.blake2b(normalize(source).encode("utf-8"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") % settings.modulo == 0) == (settings.keep == "held")


def corpus_files(corpus: CorpusSettings, data: DataSettings) -> list[Path]:
    """Return the files that a corpus is made from; those of the phrasebook are its words and its grammar."""
    match corpus:
        case LinesSettings():
            return [data.place(corpus.source), data.place(corpus.target)]
        case TsvSettings():
            return [data.place(corpus.tsv)]
        case JsonSettings():
            return [data.place(corpus.jsonl)]
        case PhrasebookSettings():
            return sorted(path for path in (Path(__file__).parent / "phrasebook").iterdir() if path.is_file())


def _read(corpus: CorpusSettings, data: DataSettings) -> Iterator[Pair]:
    """Read all pairs of a corpus."""
    match corpus:
        case LinesSettings():
            return _read_parallel(data.place(corpus.source), data.place(corpus.target))
        case TsvSettings():
            return _read_tsv(data.place(corpus.tsv), corpus.columns)
        case JsonSettings():
            return _read_json(data.place(corpus.jsonl), corpus.fields or (data.source, data.target))
        case PhrasebookSettings():
            return _read_phrasebook(corpus, data)


def _read_parallel(source_path: Path, target_path: Path) -> Iterator[Pair]:
    """Read two files that match line by line."""
    ended = object()
    pairs = zip_longest(read_lines(source_path), read_lines(target_path), fillvalue=ended)
    for number, (source, target) in enumerate(pairs, 1):
        if isinstance(source, str) and isinstance(target, str):
            yield Pair(source, target, f"{source_path}, line {number}")
            continue
        longest = number + sum(1 for _ in pairs)
        counts = (longest, number - 1) if isinstance(source, str) else (number - 1, longest)
        raise CorpusError(
            f"{source_path} has {counts[0]} lines but {target_path} has {counts[1]}; "
            "parallel files must match line by line"
        )


def _read_tsv(path: Path, columns: tuple[int, int]) -> Iterator[Pair]:
    """Read two columns."""
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) <= max(columns):
            raise CorpusError(
                f"{path}, line {number} has {len(cells)} tab-separated columns, but column {max(columns)} is asked for "
                "(counted from 0); mend the line or set `columns`"
            )
        yield Pair(cells[columns[0]], cells[columns[1]], f"{path}, line {number}")


def _read_json(path: Path, fields: tuple[str, str]) -> Iterator[Pair]:
    """Read two fields of one object a line."""
    for number, line in enumerate(read_lines(path), 1):
        place = f"{path}, line {number}"
        try:
            table = json.loads(line.removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            raise CorpusError(f"{place} is not valid JSON; each line must hold one object") from None
        if isinstance(table, dict) and isinstance(table.get("translation"), dict):
            table = table["translation"]
        yield Pair(_field(table, fields[0], place), _field(table, fields[1], place), place)


def _field(table: Any, name: str, place: str) -> str:
    """Return a field of a JSON object that must be text."""
    if not isinstance(table, dict):
        raise CorpusError(f'{place} is not a JSON object; each line must hold one, such as {{"en": ..., "fr": ...}}')
    if name not in table:
        known = ", ".join(f"`{key}`" for key in table) or "none"
        raise CorpusError(f"{place} has no field `{name}` (it has {known}); set `fields`")
    if not isinstance(table[name], str):
        raise CorpusError(f"{place}: the field `{name}` is not text; set `fields` to two that are")
    return table[name]


def _read_phrasebook(corpus: PhrasebookSettings, data: DataSettings) -> Iterator[Pair]:
    """Derive pairs of the built-in corpus, in the direction asked for."""
    from dragoman.data.phrasebook import derive

    for number, example in enumerate(derive(data.english_with, corpus.phrasebook, corpus.pairs, corpus.seed), 1):
        english_first = data.source == "en"
        source, target = (example.source, example.target) if english_first else (example.target, example.source)
        yield Pair(source, target, f"{_name(corpus)}, sentence {number}")


def _name(corpus: CorpusSettings) -> str:
    """Return the name of a corpus for messages."""
    match corpus:
        case LinesSettings():
            return str(corpus.source)
        case TsvSettings():
            return str(corpus.tsv)
        case JsonSettings():
            return str(corpus.jsonl)
        case PhrasebookSettings():
            return f"phrasebook {corpus.phrasebook}"
