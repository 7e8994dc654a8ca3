"""Encoded corpora on disk: built once, then memory-mapped.

A store is a folder with `pairs.arrow` (Arrow IPC file, see `data/encode.py::encode_rows`), `lengths.int32` (little endian;
source and target of each pair) and `store.json`. Its name is a hash of everything that it was built from. All three files
have checksums, which are verified whenever a store is opened; a damaged store is rebuilt.
"""

import hashlib
import json
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int32

from dragoman.atomic import replacing
from dragoman.data.aligner import VERSION as ALIGNER_VERSION
from dragoman.data.aligner import WordAligner, learn_aligner
from dragoman.data.checksums import Checksums
from dragoman.data.corpus import corpus_files, name_of, read_pairs
from dragoman.data.corpus_settings import CorpusSettings, corpus_tags
from dragoman.data.encode import ALONE, ROWS_PER_BATCH, Encoders, Row, encode_all, encode_rows
from dragoman.data.filters import FilterSummary, PairFilter, mostly_dropped
from dragoman.data.links import WordLinks
from dragoman.data.settings import DataSettings, FilterSettings
from dragoman.errors import CorpusError
from dragoman.json_files import load_json
from dragoman.text.codec import Codec
from dragoman.text.frames import Between
from dragoman.text.tags import tag_pieces

FORMAT = 3
"""Version of the files of a store."""

PAIRS, LENGTHS, DESCRIPTION = "pairs.arrow", "lengths.int32", "store.json"
"""Files of a store."""

READ_SIZE = 1 << 20
"""Bytes of a file that are read at a time."""

Ids = Int32[np.ndarray, " _"]
Lengths = Int32[np.ndarray, " pairs"]


class Store:
    """Encoded sentence pairs, read from disk as they are needed.

    Raises CorpusError if `folder` holds no store, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow

        try:
            table = load_json(folder / DESCRIPTION)
            if table.pop("checksum") != _hash(table) or table["crc32"] != _file_checksums(folder):
                raise ValueError("checksum")
            self._lengths = np.memmap(folder / LENGTHS, dtype="<i4", mode="r").reshape(-1, 2)
            self._reader = pyarrow.ipc.open_file(pyarrow.memory_map(str(folder / PAIRS)))
            self.summary = FilterSummary.from_table(table["summary"])
            self.linked: bool = table["linked"]
            """Whether word alignments are known of any pair."""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, pyarrow.ArrowInvalid):
            raise CorpusError(f"the encoded corpus {folder} is damaged; delete it to have it rebuilt") from None
        self.folder = folder
        self._rows = lru_cache(maxsize=256)(self._reader.get_batch)
        self._ids = lru_cache(maxsize=256)(self._read_ids)

    def __len__(self) -> int:
        return int(self._lengths.shape[0])

    @property
    def source_lengths(self) -> Lengths:
        """Tokens of each source sentence, without EOS; memory-mapped."""
        return self._lengths[:, 0]

    @property
    def target_lengths(self) -> Lengths:
        """Tokens of each target sentence, without BOS and EOS; memory-mapped."""
        return self._lengths[:, 1]

    def pair(self, index: int) -> tuple[Ids, Ids]:
        """Return the ids of source and target, without special tokens."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        row = index % ROWS_PER_BATCH
        (source, begins), (target, starts) = self._ids(index // ROWS_PER_BATCH)
        return source[begins[row] : begins[row + 1]], target[starts[row] : starts[row + 1]]

    def text(self, index: int) -> tuple[str, str]:
        """Return the texts of source and target as they are in the corpus."""
        rows, row = self._find(index)
        return rows.column("source_text")[row].as_py(), rows.column("target_text")[row].as_py()

    def previous(self, index: int, count: int) -> list[Ids | None]:
        """Return the source ids of the `count` sentences before this one in its document, nearest last, or None."""
        found: list[Ids | None] = []
        for _ in range(count):
            rows, row = self._find(index)
            back = rows.column("back")[row].as_py()
            if back is None:
                break
            index -= back
            found.append(self.pair(index)[0])
        return [None] * (count - len(found)) + found[::-1]

    def links(self, index: int) -> WordLinks | None:
        """Return the word alignment of a pair, if it is known."""
        rows, row = self._find(index)
        links = rows.column("links")[row]
        return links.values.flatten().to_numpy().reshape(-1, 2) if links.is_valid else None

    def _read_ids(self, number: int) -> tuple[tuple[Ids, Lengths], tuple[Ids, Lengths]]:
        """Return the ids of a record batch, source and target, each with where the sentences begin and the last one ends."""
        columns = (self._reader.get_batch(number).column(side) for side in ("source", "target"))
        source, target = ((column.values.to_numpy(), column.offsets.to_numpy()) for column in columns)
        return source, target

    def _find(self, index: int) -> tuple[Any, int]:
        """Return the record batch that holds a pair, and its row there."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._rows(index // ROWS_PER_BATCH), index % ROWS_PER_BATCH


def build_store(
    folder: Path,
    data: DataSettings,
    corpora: Sequence[CorpusSettings],
    *,
    codecs: tuple[Codec, Codec],
    align: bool = False,
    encoders: Encoders = ALONE,
    say: Callable[[str], object] = lambda sentence: None,
) -> tuple[Store, FilterSummary]:
    """Return the store of `corpora` in the cache `folder`; build it if it is not there yet.

    A changed corpus, filter or codec gives another store; a damaged one is rebuilt, which the summary reports. An unfinished
    store leaves nothing behind. With `align`, pairs without word alignments get those of a statistical aligner; `say` announces
    that it is learned, which may take half a minute. CorpusError where no pair is left, or the disk is full.
    """
    filters = data.filters
    try:
        folder.mkdir(parents=True, exist_ok=True)
        described = fingerprints(data, corpora, folder / "checksums.json")
        made_from = {
            "format": FORMAT,
            "corpora": described,
            "filters": filters.model_dump(mode="json"),
            "codecs": [codec.fingerprint for codec in codecs],
            **({"aligner": ALIGNER_VERSION} if align else {}),
            **({"tagged": True} if data.tagged else {}),
        }
        place = folder / f"store-{_hash(made_from)}"
        was_there = place.exists()
        if was_there:
            with suppress(CorpusError):
                store = Store(place)
                return store, store.summary
        _forget_abandoned(folder)
        pair_filter = PairFilter(filters)
        aligner = None
        if align:
            say("Learning word alignments from the corpus.")
            aligner = _learn_aligner(data, corpora, filters)
        rows = _read_all(data, corpora, pair_filter, aligner=aligner)
        _make(place, rows, codecs, summary=pair_filter.summary, encoders=encoders)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(
            f"the encoded corpus cannot be written to {folder} ({reason}); make room there, let this user write there, or choose "
            "another place, for a run with --out and for `dragoman plan` with TMPDIR"
        ) from None
    store = Store(place)
    damaged = [f"the encoded corpus {place} was damaged, so it was rebuilt"] if was_there else []
    return store, replace(store.summary, warnings=[*damaged, *store.summary.warnings])


def fingerprints(
    data: DataSettings, corpora: Sequence[CorpusSettings], memory: Path | None = None
) -> list[dict[str, Any]]:
    """Describe corpora by their settings and the SHA-256 of their files, ready for JSON.

    `memory` keeps checksums between calls: a file is read again only where its size or a time of change is new.
    Raises CorpusError if a file is missing or cannot be read.
    """
    checksums = Checksums(memory)
    described = [
        {
            "settings": corpus.what,
            "languages": list(data.direction(corpus)),
            "sha256": [checksums.of(path) for path in corpus_files(corpus, data)],
        }
        for corpus in corpora
    ]
    checksums.save()
    return described


def _learn_aligner(data: DataSettings, corpora: Sequence[CorpusSettings], filters: FilterSettings) -> WordAligner:
    """Learn word alignments from the translations that pass the filter."""
    kept, read = PairFilter(filters), [corpus for corpus in corpora if not corpus.is_noised]
    return learn_aligner((pair.source, pair.target) for corpus in read for pair in kept.keep(read_pairs(corpus, data)))


def _read_all(
    data: DataSettings, corpora: Sequence[CorpusSettings], pair_filter: PairFilter, *, aligner: WordAligner | None
) -> Iterator[Row]:
    """Read the pairs of all corpora that pass the filter, each as often as its corpus says.

    Copies of a pair follow one another, so the same copy of the sentence before it is `repeat` rows ahead.
    """
    for corpus in corpora:
        document: str | None = None
        before = replace(pair_filter.summary, dropped=pair_filter.summary.dropped.copy())
        for pair in pair_filter.keep(read_pairs(corpus, data)):
            follows = document is not None and document == pair.document
            document = pair.document
            links = pair.links
            if links is None and aligner is not None and not corpus.is_noised:
                links = aligner.links(pair.source, pair.target)
            tags = (*tag_pieces([pair.to] if pair.to else []), *corpus_tags(corpus))
            between = Between(*(pair.languages or data.direction(corpus)))
            row = Row(pair.source, pair.target, links, corpus.repeat if follows else None, tags, between)
            yield from repeat(row, corpus.repeat)
        pair_filter.summary.warnings += mostly_dropped(name_of(corpus, data), before, pair_filter.summary)


def _make(
    place: Path, pairs: Iterator[Row], codecs: tuple[Codec, Codec], *, summary: FilterSummary, encoders: Encoders
) -> None:
    """Write a store whole."""
    with replacing(place) as temporary:
        temporary.mkdir()
        linked = _write(temporary, pairs, codecs, encoders=encoders)
        summary.require_pairs()
        table = {"format": FORMAT, "summary": summary.table(), "linked": linked, "crc32": _file_checksums(temporary)}
        (temporary / DESCRIPTION).write_text(json.dumps({**table, "checksum": _hash(table)}) + "\n", "utf-8")


def _write(folder: Path, pairs: Iterator[Row], codecs: tuple[Codec, Codec], *, encoders: Encoders) -> bool:
    """Write rows and lengths of all pairs; return whether word alignments are known of any."""
    import pyarrow

    linked = False
    schema = encode_rows([], codecs).schema
    with (
        pyarrow.ipc.new_file(folder / PAIRS, schema) as arrow,
        (folder / LENGTHS).open("wb") as lengths,
    ):
        for rows in encode_all(pairs, codecs, encoders):
            arrow.write_batch(rows)
            sides = [np.diff(rows.column(side).offsets.to_numpy()) for side in ("source", "target")]
            lengths.write(np.stack(sides, axis=1).astype("<i4").tobytes())
            linked = linked or rows.column("links").null_count < len(rows)
    return linked


def _file_checksums(folder: Path) -> list[int]:
    """Return the CRC-32 of both data files: it detects damage, not forgery, and reads 1.6 GB per second."""
    checksums = []
    for name in (PAIRS, LENGTHS):
        checksum = 0
        with (folder / name).open("rb") as stream:
            while chunk := stream.read(READ_SIZE):
                checksum = zlib.crc32(chunk, checksum)
        checksums.append(checksum)
    return checksums


def _hash(table: dict[str, Any]) -> str:
    """Hash a table to a name."""
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode("ascii")).hexdigest()[:20]


def _forget_abandoned(folder: Path) -> None:
    """Delete leftovers of encodings that were killed more than a day ago; one that still writes may be older."""
    for path in folder.glob(".store-*"):
        with suppress(OSError):  # it has just become a store
            if time.time() - max(one.stat().st_mtime for one in (path, *path.iterdir())) > 24 * 3600:
                shutil.rmtree(path, ignore_errors=True)
