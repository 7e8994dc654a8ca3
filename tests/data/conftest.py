"""A small corpus, its codecs and its store."""

import random
from pathlib import Path

import pytest

from dragoman.data.settings import DataSettings
from dragoman.data.store import Store, build_store
from dragoman.settings import parse
from dragoman.text import Codec, SentencePieceSettings, learn_codecs

WORDS = [*"abcdefghij", "house", "bird", "tree", "sees", "likes", "small", "green", "old", "near", "happily"]
PAIRS = 1500


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSettings:
    """Return settings of a corpus of PAIRS sentences of 1 to 30 words and their likes, some longer, some shorter."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = random.Random(1)
    with (folder / "train.tsv").open("w", encoding="utf-8") as file:
        for _ in range(PAIRS):
            words = [rng.choice(WORDS) for _ in range(rng.randint(1, 30))]
            likes = [word[::-1] for word in words if rng.random() < 0.9] or ["ten"]
            file.write(f"{' '.join(words)}\t{' '.join(likes)}\n")
    corpora = [{"tsv": "train.tsv"}]
    return parse(DataSettings, {"source": "en", "target": "ne", "root": folder, "train": corpora, "dev": corpora})


@pytest.fixture(scope="session")
def codecs(data: DataSettings) -> tuple[Codec, Codec]:
    """Return a joint codec."""
    lines = (data.root / "train.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [(line.split("\t")[0], line.split("\t")[1]) for line in lines]
    return learn_codecs(SentencePieceSettings(size=80), lambda: pairs)


@pytest.fixture(scope="session")
def store(data: DataSettings, codecs: tuple[Codec, Codec], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return the encoded corpus."""
    return build_store(tmp_path_factory.mktemp("cache"), data, data.train, codecs=codecs)[0]


@pytest.fixture(scope="session")
def talks(tmp_path_factory: pytest.TempPathFactory) -> DataSettings:
    """Return settings of two corpora of documents, linked and not, whose sentences are all different.

    Sentence n has 1 to 8 words, the first of which spells n; its translation is the same words in reverse order, each
    spelled backwards. Every other word is linked.
    """
    folder = tmp_path_factory.mktemp("talks")
    rng = random.Random(2)
    texts: dict[str, list[str]] = {name: [] for name in ("a.en", "a.ne", "a.links", "a.ids", "b.tsv")}
    for n in range(240):
        spelled = "".join("abcdefghij"[int(digit)] for digit in f"{n:03}")
        words = [spelled, *(rng.choice(WORDS) for _ in range(rng.randint(0, 7)))]
        likes = " ".join(word[::-1] for word in words[::-1])
        if n % 3 == 2:
            texts["b.tsv"].append(f"{n // 30}\t{' '.join(words)}\t{likes}")
            continue
        links = [f"{i}{'-p'[i % 4 // 2]}{len(words) - 1 - i}" for i in range(0, len(words), 2)]
        for name, line in zip(texts, (" ".join(words), likes, " ".join(links), f"talk{n // 12}\t{n}"), strict=False):
            texts[name].append(line)
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    linked = {"source": "a.en", "target": "a.ne", "links": "a.links", "documents": "a.ids"}
    corpora = [linked, {"tsv": "b.tsv", "columns": [1, 2], "document": 0, "repeat": 2}]
    return parse(DataSettings, {"source": "en", "target": "ne", "root": folder, "train": corpora, "dev": corpora})


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a folder for stores that is not there yet."""
    return tmp_path / "cache"
