"""The slices that the atlas trains and measures on are fixed, and their links fit their words."""

import gzip
from pathlib import Path

import pytest
from benchmarks.atlas.corpora import evbnews, load_pairs, phrasebook

from dragoman.errors import CorpusError

ENGLISH = ["a b c", "a", "a b c d", "a b c", "c b a", "d e f g h"]
VIETNAMESE = ["x y z", "x", "x y z w", "x y z", "z y x", "u v w"]
ALIGNED = ["0-0 1-1", "", "3-3", "0-0", "0-2 2-0", "0-0"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files such as those of EVBNews."""
    place = tmp_path / "corpus"
    place.mkdir()
    for name, lines in (("en", ENGLISH), ("vi", VIETNAMESE), ("align", ALIGNED)):
        content = "".join(f"{line}\n" for line in lines)
        (place / f"dev.{name}").write_text(content, encoding="utf-8")
        (place / f"train.{name}.gz").write_bytes(gzip.compress(content.encode()))
    return place


def test_the_slice_takes_pairs_of_fitting_length_once_and_halves_dev(folder: Path, tmp_path: Path) -> None:
    corpus = evbnews(folder, tmp_path / "work", train=3, words=(2, 4))
    assert (tmp_path / "work" / "train.tsv").read_text() == "a b c\tx y z\na b c d\tx y z w\nc b a\tz y x\n"
    assert [pair.source for pair in corpus.choose] == ["a b c", "c b a"]
    assert [(pair.source, list(pair.links)) for pair in corpus.measure] == [("a b c d", [(3, 3)])]
    assert (tmp_path / "work" / "dev.tsv").read_text() == "a b c\tx y z\nc b a\tz y x\n"


def test_other_training_pairs_give_another_fingerprint(folder: Path, tmp_path: Path) -> None:
    prints = {evbnews(folder, tmp_path, train=count, words=(2, 4)).fingerprint for count in (2, 2, 3)}
    assert len(prints) == 2


def test_a_corpus_that_is_too_small_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match=r"has 3 training and 3 aligned dev pairs of 2 to 4 words, but the atlas needs 4"
    ):
        evbnews(folder, tmp_path / "work", train=4, words=(2, 4))
    assert not (tmp_path / "work").exists()


def test_pairs_are_read_as_they_were_saved(tmp_path: Path) -> None:
    corpus = phrasebook(train=5, choose=2, measure=3)
    corpus.save(tmp_path / "pairs.json")
    choose, measure = load_pairs(tmp_path / "pairs.json")
    assert [pair.source for pair in choose] == [pair.source for pair in corpus.choose]
    assert [list(map(tuple, pair.links)) for pair in measure] == [list(pair.links) for pair in corpus.measure]
    assert len(corpus.choose) == 2 and len(corpus.measure) == 3
