"""How fast a corpus is encoded once and read for training, beside what GPUs take: `python -m benchmarks.input [PAIRS]`.

The corpus is made up: words with the frequencies of Zipf's law and the lengths of news. It is encoded as for a training;
then batches are taken from the stream of training, without a model.
"""

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dragoman.data.settings import DataSettings
from dragoman.data.store import Store, build_store
from dragoman.data.stream import BatchStream
from dragoman.machine.memory import resident_memory
from dragoman.machine.provenance import commit, machine
from dragoman.settings import parse
from dragoman.text.codec import learn_codecs
from dragoman.text.settings import SentencePieceSettings

PAIRS = 200_000
VOCABULARY = 8000
WORDS = 60_000
TOKENS = 25_000
"""Of a batch: those of a step of the Transformer (Vaswani et al. 2017, section 5.1)."""
BATCHES = 200
SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er"))


@dataclass(frozen=True)
class Speed:
    """What was measured."""

    pairs: int
    text: int
    """Bytes of the text of both sides."""
    stored: int
    """Bytes of the encoded corpus."""
    encoding: float
    """Pairs a second."""
    opening: float
    """Seconds."""
    planning: float
    """Seconds in which a pool of pairs is put into batches."""
    reading: float
    """Target tokens a second."""
    memory: int
    """Bytes of the process while it reads."""


def write_corpus(folder: Path, pairs: int, chance: random.Random) -> None:
    """Write `train.a` and `train.b`."""
    words = sorted({"".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(WORDS)})
    chance.shuffle(words)
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    with (folder / "train.a").open("w") as first, (folder / "train.b").open("w") as second:
        for _ in range(pairs):
            length = max(2, round(chance.lognormvariate(2.9, 0.6)))
            for file in (first, second):
                count = max(1, round(length * chance.gauss(1, 0.1)))
                file.write(" ".join(chance.choices(words, cum_weights=weights, k=count)) + ".\n")


def measure(folder: Path, pairs: int) -> Speed:
    """Encode and read a corpus of so many pairs."""
    write_corpus(folder, pairs, random.Random(1))
    table: Any = {
        "root": str(folder),
        "source": "a",
        "target": "b",
        "train": [{"source": "train.a", "target": "train.b"}],
    }
    data = parse(DataSettings, table | {"filters": {"drop_duplicates": False}})
    with (folder / "train.a").open() as first, (folder / "train.b").open() as second:
        lines = [(one.strip(), other.strip()) for one, other in islice(zip(first, second, strict=True), 20_000)]
    codecs = learn_codecs(SentencePieceSettings(size=VOCABULARY), lambda: iter(lines))
    began = time.perf_counter()
    store, _ = build_store(folder / "cache", data, data.train, codecs=codecs)
    encoded = time.perf_counter()
    Store(store.folder)
    opened = time.perf_counter()
    stream = BatchStream(store, codecs, TOKENS, seed=1)
    planned = time.perf_counter()
    tokens = sum(_read(stream))
    read = time.perf_counter()
    stream.close()
    return Speed(
        pairs=pairs,
        text=sum((folder / name).stat().st_size for name in ("train.a", "train.b")),
        stored=sum(path.stat().st_size for path in store.folder.iterdir()),
        encoding=pairs / (encoded - began),
        opening=opened - encoded,
        planning=planned - opened,
        reading=tokens / (read - planned),
        memory=resident_memory(),
    )


def _read(stream: BatchStream) -> Iterator[int]:
    """Yield the target tokens of batches."""
    for batch in islice(stream, BATCHES):
        yield int(np.asarray(batch.target.mask).sum())


def report(speed: Speed) -> Iterator[str]:
    """Yield the lines of a table."""
    millions = speed.pairs / 1e6
    yield f"| {speed.pairs:,} pairs | |"
    yield "| --- | ---: |"
    yield f"| text | {speed.text / 1e9 / millions:.2f} GB for a million pairs |"
    yield f"| encoded | {speed.stored / 1e9 / millions:.2f} GB for a million pairs |"
    yield f"| encoding | {speed.encoding:,.0f} pairs a second |"
    yield f"| opening, with checksums | {speed.opening / millions:.2f} s for a million pairs |"
    yield f"| batches of a pool planned | {speed.planning:.2f} s |"
    yield f"| reading | {speed.reading:,.0f} target tokens a second |"
    yield f"| memory | {speed.memory / 1e6:,.0f} MB |"


def main(pairs: int = PAIRS) -> None:
    """Measure and print."""
    with TemporaryDirectory() as folder:
        speed = measure(Path(folder), pairs)
    print(*report(speed), f"\n{machine()}, commit `{commit()}`", sep="\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
