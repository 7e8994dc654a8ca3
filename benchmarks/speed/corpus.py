"""What all peers are given: pairs of a folder or generated ones, one joint vocabulary, and batches of ids."""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.speed.records import digest

from dragoman.atomic import write_text
from dragoman.data.buckets import batches
from dragoman.errors import InputError
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.settings import SentencePieceSettings

Pair = tuple[str, str]
Ids = tuple[list[int], list[int]]

FILES = ("train.en.gz", "train.fr.gz")
DEV_FILES = ("val.en.gz", "val.fr.gz")
TEST_FILES = ("test_2016_flickr.en.gz", "test_2016_flickr.fr.gz")
SYLLABLES = [first + second for first in "bdfghklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "el", "or")]


@dataclass(frozen=True)
class Prepared:
    """A corpus cut into batches; the files lie in `folder`."""

    folder: Path
    name: str
    """What the corpus is, for people."""
    fingerprint: str
    vocabulary: int
    batches: Path
    """JSON: a list of {"source": [[ids]], "target": [[ids]]}, without special pieces."""

    def read(self) -> list[dict[str, list[list[int]]]]:
        """Return the batches."""
        found: list[dict[str, list[list[int]]]] = json.loads(self.batches.read_text(encoding="utf-8"))
        return found


def pairs_of(data: Path | None, *, count: int = 29_000) -> tuple[list[Pair], str]:
    """Return the pairs of a folder that holds Multi30k, or generated ones, and the name of the corpus."""
    if data is None:
        return list(generated(count, seed=1)), f"{count:,} generated pairs with the lengths of captions"
    pairs = read_pairs(data, FILES)
    return pairs, f"{len(pairs):,} pairs of {' and '.join(FILES)}"


def read_pairs(data: Path, names: Sequence[str]) -> list[Pair]:
    """Return the pairs of two files of a folder."""
    files = [data / name for name in names]
    missing = next((path for path in files if not path.exists()), None)
    if missing is not None:
        raise InputError(f"there is no {missing}; --data must name a folder with {' and '.join(names)}")
    source, target = (gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1] for path in files)
    return list(zip(source, target, strict=True))


def folder_of(work: Path, data: Path | None, *, train: int | None = None, dev: int = 500) -> Path:
    """Return a folder with the files of Multi30k: the one given, or one written with the first pairs of it or generated ones.

    `train` bounds the training pairs; without it a folder that was given is taken as it is.
    """
    if data is not None and train is None:
        read_pairs(data, DEV_FILES)
        return data
    count = train or 29_000
    if data is None:
        pairs = list(generated(count + dev, seed=1))
        chosen = {FILES: pairs[:count], DEV_FILES: pairs[count:]}
    else:
        chosen = {FILES: read_pairs(data, FILES)[:count], DEV_FILES: read_pairs(data, DEV_FILES)[:dev]}
    folder = work / "data" / f"files-{digest(list(chosen.items()))}"
    folder.mkdir(parents=True, exist_ok=True)
    for names, found in chosen.items():
        for side, name in enumerate(names):
            text = "".join(pair[side] + "\n" for pair in found)
            (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    return folder


def generated(count: int, *, seed: int, words: float = 12.0) -> Iterator[Pair]:
    """Yield pairs of sentences of made-up words, whose frequencies fall as Zipf's law says, with the lengths of captions.

    The target is the source word by word in another spelling, a little longer, so that there is something to learn.
    """
    rng = random.Random(seed)
    lexicon = [
        (
            "".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 3)))),
            "".join(rng.choices(SYLLABLES, k=rng.choice((2, 2, 3)))),
        )
        for _ in range(20_000)
    ]
    weights = np.cumsum(1 / np.arange(3.0, len(lexicon) + 3)).tolist()
    for _ in range(count):
        length = max(3, round(rng.gammavariate(9.0, words / 9.0)))
        chosen = rng.choices(lexicon, cum_weights=weights, k=length)
        target = [second for _, second in chosen]
        target[1:1] = [rng.choice(("le", "un", "des"))] * (length % 2)
        yield " ".join(first for first, _ in chosen) + ".", " ".join(target) + "."


def prepare(work: Path, data: Path | None, *, size: int, tokens: int, most: int | None = None) -> Prepared:
    """Prepare the first `most` pairs of a folder that holds Multi30k, or generated ones."""
    pairs, name = pairs_of(data)
    return prepare_pairs(work, pairs[:most], name=name, size=size, tokens=tokens)


def prepare_pairs(work: Path, pairs: Sequence[Pair], *, name: str, size: int, tokens: int) -> Prepared:
    """Learn pieces from pairs, and cut their ids into batches of up to `tokens` cells a side, once."""
    key = digest([pairs, size, tokens])
    folder = work / "data" / key
    path = folder / "batches.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        codec = learn_codec(SentencePieceSettings(size=size), (text for pair in pairs for text in pair))
        codec.save(folder, "pieces")
        write_text(folder / "vocabulary.txt", "".join(f"{piece}\n" for piece in codec.tokenizer.vocabulary))
        encoded = [(codec.encode(source), codec.encode(target)) for source, target in pairs]
        write_text(path, json.dumps(cut(encoded, tokens)))
    return Prepared(folder, name, key, len(Codec.load(folder, "pieces")), path)


def cut(encoded: Sequence[Ids], tokens: int) -> list[dict[str, list[list[int]]]]:
    """Group pairs of ids into batches as Dragoman's training does, and leave out what is much smaller than the others."""
    lengths = np.array([[len(side) + 1 for side in pair] for pair in encoded], np.int32)
    groups = batches(np.arange(len(encoded)), lengths[:, 0], lengths[:, 1], tokens=tokens, rng=np.random.default_rng(1))
    full = [group for group in groups if lengths[group].sum() > tokens]
    return [{"source": [encoded[at][0] for at in group], "target": [encoded[at][1] for at in group]} for group in full]
