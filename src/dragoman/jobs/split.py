"""Split parallel text into training, dev and test files, so that no held-out sentence is also in another part."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Bool, UInt8

from dragoman.atomic import replacing
from dragoman.data.corpus import Pair, name_of, read_pairs
from dragoman.data.settings import DataSettings
from dragoman.doctor.chunk import Chunk, chunks
from dragoman.doctor.hashes import Hashes, numbered
from dragoman.errors import CorpusError, InputError, SettingsError, number_of

HELD, FEWEST = 1000, 200
"""Default number of pairs of dev, and of test: at most, and at least where that is no more than a tenth of all."""
PARTS = ("train", "dev", "test")
_LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")
_TRAIN, _LEFT_OUT = 0, len(PARTS)


@dataclass(frozen=True)
class Split:
    """What was written."""

    folder: Path
    languages: tuple[str, str]
    counts: tuple[int, int, int]
    """Number of pairs of train, dev and test."""
    blank: int
    """Number of pairs left out because a side is empty."""

    def __str__(self) -> str:
        train, dev, test = (number_of(count, "pair") for count in self.counts)
        held = f"{dev} in dev" + (f" and {test} in test" if self.counts[2] else "")
        blank = f"; {number_of(self.blank, 'pair')} with an empty side left out" if self.blank else ""
        return f"{self.folder} has {train} in train, {held}, none of which shares a sentence with another pair{blank}."


def split(
    data: DataSettings,
    out: Path,
    *,
    dev: int | None = None,
    test: int | None = None,
    progress: Callable[[int], object] = lambda pairs: None,
) -> Split:
    """Write the pairs of the training corpora of `data` to files `train`, `dev` and `test` in the new folder `out`.

    Dev and test are drawn by a hash from the pairs that have neither side in common with another pair (case, digits,
    punctuation and spaces do not count): a model has not seen them in training, and no training pair is lost. By default each
    has a twentieth of all pairs, at most 1,000 (a tenth for up to 200), and at most a quarter of such pairs. The corpora are read
    twice; memory grows by 90 bytes a pair, and has the texts of dev and test. CorpusError if they cannot be read or have too few
    such pairs.
    """
    for name, count in (("dev", dev), ("test", test)):
        if count is not None and count < (name == "dev"):
            raise SettingsError(f"`{name}` is {count}, but must be a number of pairs, at least {int(name == 'dev')}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not an empty folder; give --out another one")
    languages = data.direction(data.train[0])
    hashes, filled = _read(data, progress)
    parts = _parts(hashes, filled, (dev, test), name=_name(data))
    with replacing(out) as temporary:
        temporary.mkdir(parents=True)
        _write(data, temporary, languages, parts=parts)
    counts = np.bincount(parts, minlength=_LEFT_OUT + 1).tolist()
    return Split(out, languages, (counts[0], counts[1], counts[2]), counts[_LEFT_OUT])


def _pairs(data: DataSettings) -> Iterator[Pair]:
    """Read all corpora."""
    return chain.from_iterable(read_pairs(corpus, data) for corpus in data.train)


def _name(data: DataSettings) -> str:
    """Return the beginning of a sentence about all corpora."""
    return f"{name_of(data.train[0], data)} {'has' if len(data.train) == 1 else 'and the others together have'}"


def _read(
    data: DataSettings, progress: Callable[[int], object]
) -> tuple[tuple[Hashes, Hashes], Bool[np.ndarray, " pairs"]]:
    """Return the hashes of the letters and digits of both sides of each pair, and which pairs have text on both."""
    seen: list[tuple[Hashes, Hashes, Bool[np.ndarray, " some"]]] = []
    count = 0
    for chunk in chunks(_pairs(data)):
        seen.append((chunk.source.folded.hashes, chunk.target.folded.hashes, _filled(chunk)))
        count += len(chunk)
        progress(count)
    sources, targets, filled = (np.concatenate(column) for column in zip(*seen, strict=True))
    return (sources, targets), filled


def _filled(chunk: Chunk) -> Bool[np.ndarray, " some"]:
    """Tell which pairs have words on both sides."""
    return (chunk.source.words > 0) & (chunk.target.words > 0)


def _parts(
    hashes: tuple[Hashes, Hashes],
    filled: Bool[np.ndarray, " pairs"],
    wanted: tuple[int | None, int | None],
    *,
    name: str,
) -> UInt8[np.ndarray, " pairs"]:
    """Return the part of each pair, a place in `PARTS` or `_LEFT_OUT`; as many of dev and test as are `wanted`, or as usual."""
    alone = filled.copy()
    for side in hashes:
        _, numbers = numbered(side)
        alone &= np.bincount(numbers)[numbers] == 1
    candidates = np.flatnonzero(alone)
    usual = min(HELD, max(len(filled) // 20, min(FEWEST, len(filled) // 10)), len(candidates) // 4)
    dev, test = (usual if one is None else one for one in wanted)
    if not dev or dev + test > len(candidates) // 2:
        more = "" if wanted[1] == 0 else f" and {test or 'some'} in test"
        raise CorpusError(
            f"{name} {number_of(int(filled.sum()), 'pair')} with text on both sides, of which {len(candidates):,} share no "
            f"sentence with another, too few for {dev or 'some'} in dev{more}; give more pairs, or smaller numbers"
        )
    order = candidates[np.argsort(hashes[0][candidates], kind="stable")]
    parts = np.where(filled, 0, _LEFT_OUT).astype(np.uint8)
    parts[order[:test]] = PARTS.index("test")
    parts[order[test : test + dev]] = PARTS.index("dev")
    return parts


def _write(data: DataSettings, folder: Path, languages: Sequence[str], *, parts: UInt8[np.ndarray, " pairs"]) -> None:
    """Write each pair to the files of its part: of train in the order of the corpora, of dev and test in no order.

    Corpora may be sorted, by length or by subject, and validation takes the first pairs of dev.
    """
    kept = [name for number, name in enumerate(PARTS) if (parts == number).any()]
    with ExitStack() as opened:
        files = {
            name: [
                opened.enter_context((folder / f"{name}.{language}").open("w", encoding="utf-8", newline="\n"))
                for language in languages
            ]
            for name in kept
        }
        held: dict[str, list[list[str]]] = {name: [] for name in kept}
        for part, pair in zip_longest(parts.tolist(), _pairs(data)):
            if part is None or pair is None:
                raise CorpusError(f"{name_of(data.train[0], data)} was changed while it was split; split it again")
            texts = [_LINE_BREAKS.sub(" ", text) for text in pair[:2]]
            if part == _TRAIN:
                _append(files["train"], texts)
            elif part != _LEFT_OUT:
                held[PARTS[part]].append(texts)
        for name, pairs in held.items():
            for texts in sorted(pairs, key=_place):
                _append(files[name], texts)


def _append(files: Sequence[IO[str]], texts: Sequence[str]) -> None:
    """Write a pair."""
    for file, text in zip(files, texts, strict=True):
        file.write(f"{text}\n")


def _place(texts: Sequence[str]) -> bytes:
    """Return a hash by which pairs are in an order that says nothing, always the same."""
    return hashlib.blake2b(texts[0].encode("utf-8", "surrogatepass"), digest_size=8).digest()
