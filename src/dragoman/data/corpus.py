"""Sentence pairs from files, one at a time."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dragoman.data.corpus_settings import (
    CorpusSettings,
    HoldOutSettings,
    JsonSettings,
    LinesSettings,
    MonolingualSettings,
    PhrasebookSettings,
    TmxSettings,
    TsvSettings,
)
from dragoman.data.directions import Direction
from dragoman.data.findings import Finding, LineFault, Report, refuse
from dragoman.data.lines import not_a_file, read_chunks, read_lines, read_rows, without_mark
from dragoman.data.links import spaced
from dragoman.data.settings import DataSettings
from dragoman.errors import CorpusError, number_of, shorten
from dragoman.json_files import parse_json
from dragoman.regular_files import NotAFileError, require_file
from dragoman.text.frames import Between
from dragoman.text.links import Links, parse_links
from dragoman.text.normalize import normalize
from dragoman.tmx import read_units

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character beyond U+FFFF: JSON can contain it alone, UTF-8 cannot."""


class Pair(NamedTuple):
    """A sentence, its translation, and where they are: "train.en, line 7"."""

    source: str
    target: str
    place: str
    document: str | None = None
    """Name of the document that the sentence is from, the same for all of its sentences, which are neighbours."""
    links: Links | None = None
    """Word alignment, with words counted between spaces, if the corpus has it."""
    languages: Direction | None = None
    """Codes of the source and the target language, where there are several directions."""

    @property
    def to(self) -> str | None:
        """The language whose tag the source begins with, if there are several directions."""
        return None if self.languages is None else self.languages[1]

    @property
    def between(self) -> Between | None:
        """Both languages, if there are several directions."""
        return None if self.languages is None else Between(*self.languages)

    def swapped(self) -> "Pair":
        """Return the pair for the opposite direction; its document is another one."""
        source, target = self.languages or ("", "")
        document = self.document and f"{target}-{source} {self.document}"
        links = self.links and self.links.flipped()
        return Pair(self.target, self.source, self.place, document, links, (target, source))


def read_pairs(corpus: CorpusSettings, data: DataSettings, report: Report = refuse) -> Iterator[Pair]:
    """Read a corpus pair by pair, in constant memory; `corpus.repeat` is left to the reader.

    Pairs used in both directions come once in that of the corpus, all of them, then swapped. CorpusError names file and line
    where the corpus is missing, unreadable, not parallel or empty. Lines that hold no pair, and what the longer of two files
    has more, are reported, which raises CorpusError too unless `report` does something else; then they are left out.
    """
    if not data.tagged:
        yield from _read_part(corpus, data, report)
        return
    for swap in (False, True) if corpus.both_ways else (False,):
        for pair in _read_part(corpus, data, report):
            tagged = pair._replace(languages=data.direction(corpus))
            yield tagged.swapped() if swap else tagged


def _read_part(corpus: CorpusSettings, data: DataSettings, report: Report) -> Iterator[Pair]:
    """Read the part of a corpus that its settings ask for, as it is written."""
    count = kept = 0
    for pair in _read(corpus, data, report):
        count += 1
        if corpus.hold_out is None or is_kept(pair.document or pair.source, corpus.hold_out):
            kept += 1
            yield pair
        if kept == corpus.first:
            break
    if count == 0:
        what = "sentences" if isinstance(corpus, MonolingualSettings) else "sentence pairs"
        raise CorpusError(f"{name_of(corpus, data)} contains no {what}; give a corpus that does")


def first_of_each_direction(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """Return the first `count` pairs or, if there are several directions, equally many of each, about `count` in all."""
    groups: dict[Direction | None, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.languages, []).append(pair)
    each = max(count // max(len(groups), 1), 1)
    return [pair for group in groups.values() for pair in group[:each]]


def is_kept(source: str, settings: HoldOutSettings) -> bool:
    """Tell whether the part contains the pairs of this source sentence, or of the document with this name.

    >>> is_kept("Hello !", HoldOutSettings(keep="held")), is_kept("Hello\\u00a0!", HoldOutSettings(keep="rest"))
    (False, True)
    """
    digest = hashlib.blake2b(normalize(source).encode("utf-8"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") % settings.modulo == 0) == (settings.keep == "held")


def corpus_files(corpus: CorpusSettings, data: DataSettings) -> list[Path]:
    """Return the files that a corpus is made from; those of the phrasebook are its words and its grammar."""
    return [data.place(path, corpus) for path in corpus.paths]


def name_of(corpus: CorpusSettings, data: DataSettings) -> str:
    """Return the name of a corpus for messages: where the first of its files is."""
    return corpus.name if isinstance(corpus, PhrasebookSettings) else str(data.place(corpus.paths[0], corpus))


def require_files(data: DataSettings) -> None:
    """Raise CorpusError for the first pipe or device among the files of corpora, which has nothing left when it is read again."""
    for corpus in (*data.train, *data.dev, *data.test):
        for path in corpus_files(corpus, data):
            try:
                require_file(path)
            except NotAFileError:
                raise not_a_file(path) from None
            except OSError:
                continue  # whoever reads it says why it cannot be read


def require_documents(data: DataSettings, what: str) -> None:
    """Raise CorpusError for the first corpus without documents, which `what` needs."""
    for corpus in (*data.train, *data.dev, *data.test):
        if not corpus.has_documents:
            raise CorpusError(
                f"{what} needs documents, but {name_of(corpus, data)} does not say where they start; "
                f"give {corpus.documents_hint} in `data`"
            )


def _read(corpus: CorpusSettings, data: DataSettings, report: Report) -> Iterator[Pair]:
    """Read all pairs of a corpus."""
    files = corpus_files(corpus, data)
    match corpus:
        case LinesSettings():
            return _read_parallel(corpus, files, report)
        case TsvSettings():
            return _read_tsv(files[0], corpus, report)
        case JsonSettings():
            return _read_json(files[0], corpus.fields or data.direction(corpus), corpus.document, report=report)
        case TmxSettings():
            return _read_tmx(files[0], data.direction(corpus))
        case MonolingualSettings():
            return _read_sentences(files[0], report)
        case PhrasebookSettings():
            return _read_phrasebook(corpus, data)


def _read_parallel(corpus: LinesSettings, paths: Sequence[Path], report: Report) -> Iterator[Pair]:
    """Read files that match line by line: source, target and, where the corpus has them, documents and links."""
    between_blanks = corpus.documents == "blank lines"
    blanks = 0
    for number, (source, target, *more) in enumerate(_zip_lines(paths, report), 1):
        more = [without_mark(one, number) for one in more]
        links = document = None
        if corpus.links is not None:
            links = _parse_links_within(more.pop(), source, target, place=f"{paths[-1]}, line {number}")
        if between_blanks and not source.strip() and not target.strip():
            blanks += 1
            continue
        if corpus.documents is not None:
            document = str(blanks) if between_blanks else _document(more[0], f"{paths[2]}, line {number}").split()[0]
        yield Pair(source, target, f"{paths[0]}, line {number}", document, links)


def _zip_lines(paths: Sequence[Path], report: Report) -> Iterator[tuple[str, ...]]:
    """Read lines of several files together, as long as all have some; it is reported if one has more than another."""
    rows = zip_longest(*(read_lines(path, report) for path in paths))
    for number, lines in enumerate(rows, 1):
        if None not in lines:
            yield lines
            continue
        counts = [number - (line is None) for line in lines]
        for after in rows:
            counts = [count + (line is not None) for count, line in zip(counts, after, strict=True)]
        other = next(at for at, count in enumerate(counts) if count != counts[0])
        what = f"has {counts[0]} lines but {paths[other]} has {counts[other]}"
        advice = "parallel files must match line by line"
        report(Finding("line-counts", "error", what, advice, str(paths[0]), count=abs(counts[0] - counts[other])))


def _document(name: str, place: str) -> str:
    """Return the name of a document, which must not be empty."""
    if not name.strip():
        raise CorpusError(f"{place} names no document; write a name there, the same for all its sentences")
    return name.strip()


def _parse_links_within(line: str, source: str, target: str, *, place: str) -> Links:
    """Read the word links of a pair; none may point beyond its words."""
    links = parse_links(line, place)
    for side, text in enumerate((source, target)):
        last, count = max((link[side] for link in links.possible), default=-1), len(spaced(text))
        if last >= count:
            raise CorpusError(
                f"{place} links {('source', 'target')[side]} word {last}, counted from 0, but that sentence has {count} "
                "words between spaces; give the links that were made for these files"
            )
    return links


def _read_tsv(path: Path, corpus: TsvSettings, report: Report) -> Iterator[Pair]:
    """Read two columns and, if one is given, that of the document."""
    columns, document = corpus.columns, corpus.document
    last = max(*columns, -1 if document is None else document)
    for number, line in read_rows(path, report):
        cells, place = without_mark(line, number).split("\t"), f"{path}, line {number}"
        if len(cells) <= last:
            what = (
                f"has {number_of(len(cells), 'tab-separated column')}, but column {last} is requested (counted from 0)"
            )
            advice = f"correct the line or set `{'columns' if last in columns else 'document'}`"
            report(Finding("missing-columns", "error", what, advice, str(path), number))
            continue
        name = None if document is None else _document(cells[document], place)
        yield Pair(cells[columns[0]], cells[columns[1]], place, name)


def _read_json(path: Path, fields: tuple[str, str], document: str | None, *, report: Report) -> Iterator[Pair]:
    """Read two fields of one object a line and, if one is given, that of the document."""
    for number, line in read_rows(path, report):
        place = f"{path}, line {number}"
        try:
            outer = table = _parse_json(line)
            if isinstance(table, dict) and isinstance(table.get("translation"), dict):
                table = table["translation"]
            source, target = (_field(table, name) for name in fields)
            name = None if document is None else str(_field(outer, document, setting="document"))
        except LineFault as fault:
            report(fault.finding("unreadable-object", path, number))
            continue
        yield Pair(source, target, place, None if name is None else _document(name, place))


def _parse_json(line: str) -> Any:
    """Read the object of a line."""
    try:
        return parse_json(line.removeprefix("\ufeff"))
    except ValueError:
        raise LineFault("is not valid JSON", "each line must hold one object") from None


def _read_tmx(path: Path, languages: Direction) -> Iterator[Pair]:
    """Read the units of a translation memory that have both languages."""
    pairs, known = 0, dict[str, None]()
    try:
        for unit in read_units(read_chunks(path)):
            known |= dict.fromkeys(unit.texts)
            if (texts := unit.pair(*languages)) is not None:
                pairs += 1
                yield Pair(*texts, f"{path}, line {unit.line}")
    except ValueError as error:
        raise CorpusError(f"{path} {error}") from None
    if not pairs:
        has = ", ".join(f"`{shorten(one)}`" for one in islice(known, 20)) or "none"
        raise CorpusError(
            f"{path} has no unit with both `{languages[0]}` and `{languages[1]}` (its languages are {has}); set `data.source` "
            "and `data.target`, which `dragoman check` and `dragoman split` take as --from and --to, to two of them"
        )


def _read_sentences(path: Path, report: Report) -> Iterator[Pair]:
    """Read the lines of one file, each as its own translation."""
    for number, line in enumerate(read_lines(path, report), 1):
        yield Pair(line, line, f"{path}, line {number}")


def _field(table: Any, name: str, *, setting: Literal["fields", "document"] = "fields") -> Any:
    """Return a field of a JSON object that must be text; the name of a document may be a whole number."""
    if not isinstance(table, dict):
        raise LineFault("is not a JSON object", 'each line must hold one, such as {"en": ..., "fr": ...}')
    if name not in table:
        known = ", ".join(f"`{shorten(key)}`" for key in islice(table, 20)) or "none"
        given = ", which `dragoman check FILE` takes as --from and --to" if setting == "fields" else ""
        raise LineFault(f"has no field `{name}` (it has {known})", f"set `{setting}`{given}")
    value = table[name]
    if type(value) not in ((str,) if setting == "fields" else (str, int)):
        raise LineFault(f"has a field `{name}` that is not text", f"set `{setting}` to what is")
    if isinstance(value, str) and (half := _SURROGATE.search(value)):
        what = f"has \\u{ord(half[0]):04x} without its other half in the field `{name}`, which is not a character"
        raise LineFault(what, "remove it, or make the file again")
    return value


def _read_phrasebook(corpus: PhrasebookSettings, data: DataSettings) -> Iterator[Pair]:
    """Derive pairs of the built-in corpus, in the requested direction or in one language."""
    from dragoman.data.phrasebook import derive

    source, target = data.direction(corpus)
    other = next((language for language in (target, source) if language != "en"), "vi")
    for number, example in enumerate(derive(other, corpus.phrasebook, corpus.pairs, seed=corpus.seed), 1):
        texts = {"en": example.source, other: example.target}
        yield Pair(texts[source], texts[target], f"{corpus.name}, sentence {number}")
