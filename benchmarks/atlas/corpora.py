"""The two corpora of the atlas: the built-in phrasebook, and a fixed slice of EVBNews with its manual word alignments.

Each gives a `data` section to train on and two sets of aligned pairs: one to choose layer and head on, one to measure on.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.data.lines import read_lines
from dragoman.data.phrasebook import Example, derive, split_words
from dragoman.errors import CorpusError
from dragoman.text.links import parse_links
from dragoman.text.normalize import normalize


@dataclass(frozen=True)
class Aligned:
    """A sentence pair, cut into the words that its gold links count; a link is (source, target), from 0."""

    source: str
    target: str
    source_words: Sequence[str]
    target_words: Sequence[str]
    links: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Corpus:
    """What models are trained on and measured with."""

    data: dict[str, Any]
    """The `data` section of recipes."""
    choose: Sequence[Aligned]
    """Pairs of the dev split: layer and head are chosen on them."""
    measure: Sequence[Aligned]
    """Pairs that everything is measured on."""
    fingerprint: str
    """A hash of all that training and measuring see."""
    learn: Sequence[Aligned] = ()
    """Training pairs with their links, where these are known."""

    def save(self, path: Path) -> None:
        """Write what measuring needs."""
        table = {
            "choose": [asdict(pair) for pair in self.choose],
            "measure": [asdict(pair) for pair in self.measure],
            "fingerprint": self.fingerprint,
        }
        _write(path, json.dumps(table, ensure_ascii=False))


def load_pairs(path: Path) -> tuple[list[Aligned], list[Aligned]]:
    """Read what `Corpus.save` wrote: the pairs to choose and to measure on."""
    table = json.loads(path.read_text(encoding="utf-8"))
    choose, measure = ([Aligned(**pair) for pair in table[name]] for name in ("choose", "measure"))
    return choose, measure


def phrasebook(*, train: int, choose: int, measure: int) -> Corpus:
    """Draw from the phrasebook: its dev split to choose on, its test split to measure on."""
    data = {
        "source": "en",
        "target": "vi",
        "train": [{"phrasebook": "train", "pairs": train}],
        "dev": [{"phrasebook": "dev", "pairs": choose}],
    }
    chosen, measured = ([_cut(one) for one in derive("vi", *part)] for part in (("dev", choose), ("test", measure)))
    return Corpus(data, chosen, measured, _hash([train], chosen, measured))


def _cut(example: Example) -> Aligned:
    """Cut an example as its links count."""
    source, target = example.source, example.target
    return Aligned(source, target, split_words(source), split_words(target), example.links)


def evbnews(folder: Path, work: Path, *, train: int, words: tuple[int, int]) -> Corpus:
    """Cut the slice of EVBNews: the first `train` pairs of its train split with `words` (fewest, most) on each side.

    Of its dev split all pairs of that length are taken that have links: those at even places (0, 2, ...) to choose on, the
    others to measure on. Equal pairs are taken once. What training reads is written to `work`. CorpusError where `folder`
    lacks a file, or has too few pairs.
    """
    learn = list(islice(_pairs(folder, "train", ".gz", words), train))
    dev = [pair for pair in _pairs(folder, "dev", "", words) if pair.links]
    if len(learn) < train or len(dev) < 2:
        raise CorpusError(
            f"{folder} has {len(learn)} training and {len(dev)} aligned dev pairs of {words[0]} to {words[1]} words, but the "
            f"atlas needs {train} and 2; give the folder of the whole corpus"
        )
    work.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", learn), ("dev", dev[::2])):
        _write(work / f"{name}.tsv", "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs))
    data = {
        "source": "en",
        "target": "vi",
        "root": str(work),
        "train": [{"tsv": "train.tsv"}],
        "dev": [{"tsv": "dev.tsv"}],
    }
    return Corpus(data, dev[::2], dev[1::2], _hash(learn, dev[::2], dev[1::2]), learn)


def _pairs(folder: Path, split: str, suffix: str, words: tuple[int, int]) -> Iterator[Aligned]:
    """Yield pairs of fitting length. Those whose words change in number when spelling is made one are left out."""
    seen = set()
    files = [folder / f"{split}.{name}{suffix}" for name in ("en", "vi", "align")]
    for number, lines in enumerate(zip(*(read_lines(path) for path in files), strict=True), 1):
        source, target = sides = (normalize(lines[0]), normalize(lines[1]))
        counts = [len(text.split(" ")) for text in sides]
        same = counts == [len(line.split()) for line in lines[:2]]
        if same and all(words[0] <= count <= words[1] for count in counts) and sides not in seen:
            seen.add(sides)
            links = sorted(parse_links(lines[2], f"{files[2]}, line {number}").sure)
            yield Aligned(source, target, source.split(" "), target.split(" "), links)


def _hash(*parts: object) -> str:
    """Return a hash of what is written the same every time."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a temporary file and rename it into place."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
