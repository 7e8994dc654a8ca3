"""Sentence pairs from files."""

import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.corpus import Pair, corpus_files, is_kept, read_pairs
from dragoman.data.settings import DataSettings, HoldOutSettings
from dragoman.errors import CorpusError
from dragoman.settings import parse

SHARED = Path("../shared/data")


def read(folder: Path, **corpus: Any) -> list[Pair]:
    """Read a corpus in `folder`."""
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": folder, "train": [corpus], "dev": [corpus]})
    return list(read_pairs(data.train[0], data))


def write(path: Path, text: str) -> None:
    """Write a text file."""
    path.write_text(text, encoding="utf-8", newline="")


def test_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "one\r\n\ntwo\u2028\n")
    (tmp_path / "a.fr.gz").write_bytes(gzip.compress(b"un\n\ndeux"))
    assert read(tmp_path, source="a.en", target="a.fr.gz") == [
        ("one", "un", f"{tmp_path}/a.en, line 1"),
        ("", "", f"{tmp_path}/a.en, line 2"),
        ("two\u2028", "deux", f"{tmp_path}/a.en, line 3"),
    ]


@pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (0, 1), (1, 0), (4, 5)])
def test_files_of_different_lengths_are_refused_with_both(source: int, target: int, tmp_path: Path) -> None:
    write(tmp_path / "a.en", "x\n" * source)
    write(tmp_path / "a.fr", "x\n" * target)
    message = rf"a\.en has {source} lines but .*a\.fr has {target}; parallel files must match line by line"
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, source="a.en", target="a.fr")


def test_columns_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "un\tone\t1\ndeux\ttwo\t2\n")
    assert [pair[:2] for pair in read(tmp_path, tsv="a.tsv", columns=[1, 0])] == [("one", "un"), ("two", "deux")]
    assert [pair[:2] for pair in read(tmp_path, tsv="a.tsv")] == [("un", "one"), ("deux", "two")]


def test_a_line_with_too_few_columns_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "un\tone\nalone\n")
    with pytest.raises(CorpusError, match=r"a\.tsv, line 2 has 1 tab-separated columns, but column 1 is asked for"):
        read(tmp_path, tsv="a.tsv")


def test_json_lines_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '\ufeff{"en": "one", "fr": "un"}\n{"translation": {"fr": "deux", "en": "two\\n"}}\n')
    assert [pair[:2] for pair in read(tmp_path, jsonl="a.jsonl")] == [("one", "un"), ("two\n", "deux")]
    assert read(tmp_path, json="a.jsonl", fields=["fr", "en"])[0][:2] == ("un", "one")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not valid JSON; each line must hold one object"),
        ("", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('["one", "un"]', "is not a JSON object; each line must hold one"),
        ('{"en": "one", "de": "eins"}', r"has no field `fr` \(it has `en`, `de`\); set `fields`"),
        ('{"en": "one", "fr": 1}', "the field `fr` is not text"),
    ],
)
def test_bad_json_is_named_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", f'{{"en": "one", "fr": "un"}}\n{line}\n')
    with pytest.raises(CorpusError, match=rf"a\.jsonl, line 2:? {message}"):
        read(tmp_path, jsonl="a.jsonl")


@pytest.mark.parametrize("corpus", [{"tsv": "empty"}, {"jsonl": "empty"}, {"source": "empty", "target": "empty"}])
def test_an_empty_corpus_is_refused(corpus: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "empty", "")
    with pytest.raises(CorpusError, match="empty holds no sentence pairs; give a corpus that does"):
        read(tmp_path, **corpus)


def test_a_corpus_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"one\tun\n" * 100_000 + b"\xff\n")
    data = parse(DataSettings, {"source": "en", "target": "fr", "train": [{"tsv": "a.tsv"}], "dev": [{"tsv": "a.tsv"}]})
    data = data.model_copy(update={"root": tmp_path})
    assert len(list(itertools.islice(read_pairs(data.train[0], data), 5))) == 5


def test_held_out_sentences_and_the_rest_are_the_corpus(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "".join(f"sentence {n // 3}\tphrase {n}\n" for n in range(3000)))
    parts = {keep: read(tmp_path, tsv="a.tsv", hold_out={"modulo": 10, "keep": keep}) for keep in ("rest", "held")}
    assert sorted(parts["rest"] + parts["held"]) == sorted(read(tmp_path, tsv="a.tsv"))
    assert not {pair.source for pair in parts["rest"]} & {pair.source for pair in parts["held"]}
    assert 200 < len(parts["held"]) < 400
    assert len(parts["held"]) % 3 == 0


def test_which_sentences_are_held_out_never_changes() -> None:
    held = [n for n in range(200) if is_kept(f"sentence {n}", HoldOutSettings(modulo=50, keep="held"))]
    assert held == [100, 111, 165, 175, 179]


def test_spellings_of_one_sentence_are_held_out_together() -> None:
    settings = HoldOutSettings(modulo=2, keep="held")
    for n in range(50):
        assert is_kept(f"sentence {n} ?", settings) == is_kept(f"sentence\u00a0{n} ? ", settings)


def test_the_phrasebook_is_read_in_both_directions() -> None:
    phrasebook = pytest.importorskip("dragoman.data.phrasebook")
    corpus = {"phrasebook": "dev", "pairs": 20}
    there = parse(DataSettings, {"source": "en", "target": "vi", "train": [corpus], "dev": [corpus]})
    back = parse(DataSettings, {"source": "vi", "target": "en", "train": [corpus], "dev": [corpus]})
    pairs = list(read_pairs(there.train[0], there))
    assert [(pair.source, pair.target) for pair in pairs] == [
        (example.source, example.target) for example in phrasebook.derive("vi", "dev", 20, 1)
    ]
    assert [(pair.target, pair.source) for pair in read_pairs(back.train[0], back)] == [pair[:2] for pair in pairs]
    assert pairs[4].place == "phrasebook dev, sentence 5"
    assert corpus_files(there.train[0], there)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the parallel corpora in ../shared/data")
@pytest.mark.parametrize(
    ("corpus", "count"),
    [
        ({"source": "multi30k/train.en.gz", "target": "multi30k/train.fr.gz"}, 29_000),
        ({"source": "alt-en-vi/train.en.gz", "target": "alt-en-vi/train.vi.gz"}, 18_000),
        ({"source": "evbnews-en-vi/dev.en", "target": "evbnews-en-vi/dev.vi"}, 1_908),
        ({"source": "iwslt15-en-vi/train-first10k.en.gz", "target": "iwslt15-en-vi/train-first10k.vi.gz"}, 10_000),
        ({"tsv": "tatoeba-en-vi/tatoeba.tsv.gz"}, 7_771),
    ],
)
def test_real_corpora_are_read_whole(corpus: dict[str, Any], count: int) -> None:
    assert len(read(SHARED, **corpus)) == count
