"""Sentence pairs from files."""

import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.corpus import Pair, corpus_files, first_of_each_direction, is_kept, read_pairs, require_documents
from dragoman.data.corpus_settings import HoldOutSettings
from dragoman.data.settings import DataSettings
from dragoman.errors import CorpusError, InputError
from dragoman.settings import parse
from dragoman.text.links import parse_links

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
    assert [pair[:3] for pair in read(tmp_path, source="a.en", target="a.fr.gz")] == [
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
    with pytest.raises(CorpusError, match=r"a\.tsv, line 2 has 1 tab-separated column, but column 1 is requested"):
        read(tmp_path, tsv="a.tsv")


def test_json_lines_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '\ufeff{"en": "one", "fr": "un"}\n{"translation": {"fr": "deux", "en": "two\\n"}}\n')
    assert [pair[:2] for pair in read(tmp_path, jsonl="a.jsonl")] == [("one", "un"), ("two\n", "deux")]
    assert read(tmp_path, json="a.jsonl", fields=["fr", "en"])[0][:2] == ("un", "one")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not valid JSON; each line must hold one object"),
        (" ", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('["one", "un"]', "is not a JSON object; each line must hold one"),
        ('{"en": "one", "de": "eins"}', r"has no field `fr` \(it has `en`, `de`\); set `fields`"),
        ('{"en": "one", "fr": 1}', "has a field `fr` that is not text"),
        ('{"en": "a \\ud800 b", "fr": "x"}', r"has \\ud800 without its other half in the field `en`"),
        ('{"en": "a", "fr": "\\ude00\\ud83d"}', r"has \\ude00 without its other half in the field `fr`"),
    ],
)
def test_bad_json_is_named_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", f'{{"en": "one", "fr": "un"}}\n{line}\n')
    with pytest.raises(CorpusError, match=rf"a\.jsonl, line 2:? {message}"):
        read(tmp_path, jsonl="a.jsonl")


def test_characters_of_two_halves_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"en": "\\ud83d\\ude00", "fr": "x"}\n')
    assert read(tmp_path, jsonl="a.jsonl")[0].source == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("row", "corpus"), [("one\tun\n", {"tsv": "a"}), ('{"en": "one", "fr": "un"}\n', {"jsonl": "a"})]
)
def test_empty_lines_end_a_file_but_are_no_rows_within_it(tmp_path: Path, row: str, corpus: dict[str, str]) -> None:
    write(tmp_path / "a", f"{row}{row}\r\n\n")
    assert [pair.place for pair in read(tmp_path, **corpus)] == [f"{tmp_path}/a, line {number}" for number in (1, 2)]
    write(tmp_path / "a", f"{row}\n\n{row}\n")
    with pytest.raises(CorpusError, match=r"a, line 2:? (is not valid JSON|has 1 tab-separated column)"):
        read(tmp_path, **corpus)
    write(tmp_path / "a", "\n\n")
    with pytest.raises(CorpusError, match="contains no sentence pairs"):
        read(tmp_path, **corpus)


@pytest.mark.parametrize("corpus", [{"tsv": "empty"}, {"jsonl": "empty"}, {"source": "empty", "target": "empty"}])
def test_an_empty_corpus_is_refused(corpus: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "empty", "")
    with pytest.raises(CorpusError, match="empty contains no sentence pairs; give a corpus that does"):
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


def test_the_first_pairs_are_taken_of_those_that_are_kept(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "".join(f"sentence {n}\tphrase {n}\n" for n in range(200)))
    assert read(tmp_path, tsv="a.tsv", first=3) == read(tmp_path, tsv="a.tsv")[:3]
    assert len(read(tmp_path, tsv="a.tsv", first=300)) == 200
    held = {"modulo": 10, "keep": "held"}
    assert read(tmp_path, tsv="a.tsv", hold_out=held, first=3) == read(tmp_path, tsv="a.tsv", hold_out=held)[:3]


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
        (example.source, example.target) for example in phrasebook.derive("vi", "dev", 20, seed=1)
    ]
    assert [(pair.target, pair.source) for pair in read_pairs(back.train[0], back)] == [pair[:2] for pair in pairs]
    assert pairs[4].place == "phrasebook dev, sentence 5"
    assert corpus_files(there.train[0], there)


@pytest.mark.parametrize("language", ["en", "vi", "fr"])
def test_the_phrasebook_is_read_in_one_language(language: str) -> None:
    phrasebook = pytest.importorskip("dragoman.data.phrasebook")
    corpus = {"phrasebook": "dev", "pairs": 20}
    data = parse(DataSettings, {"source": language, "target": language, "train": [corpus], "dev": [corpus]})
    examples = phrasebook.derive("vi" if language == "en" else language, "dev", 20, seed=1)
    expected = [example.source if language == "en" else example.target for example in examples]
    assert [pair[:2] for pair in read_pairs(data.train[0], data)] == [(text, text) for text in expected]


def test_each_line_of_one_file_is_its_own_translation(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "one\ttwo\r\n\nthree\n")
    assert read(tmp_path, text="a.txt") == [
        Pair("one\ttwo", "one\ttwo", f"{tmp_path}/a.txt, line 1"),
        Pair("", "", f"{tmp_path}/a.txt, line 2"),
        Pair("three", "three", f"{tmp_path}/a.txt, line 3"),
    ]


def test_blank_lines_stand_between_documents_and_are_no_pairs(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "\n1\n2\n\u00a0\r\n\t\n3\n\n4\n\n")
    write(tmp_path / "a.fr", "\n1\n2\n\n\n3\n-\n4\n\n")
    pairs = read(tmp_path, source="a.en", target="a.fr", documents="blank lines")
    assert [pair.source for pair in pairs] == ["1", "2", "3", "", "4"]
    assert [pair.place[-1] for pair in pairs] == ["2", "3", "6", "7", "8"]
    names = [pair.document for pair in pairs]
    assert names[0] == names[1] != names[2] == names[3] == names[4]
    assert {pair.document for pair in read(tmp_path, source="a.en", target="a.fr")} == {None}


def test_a_third_file_names_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "1\n2\n3\n")
    write(tmp_path / "a.ids", "N1\t1\r\n N1 2\nN2\n")
    pairs = read(tmp_path, source="a.en", target="a.en", documents="a.ids")
    assert [pair.document for pair in pairs] == ["N1", "N1", "N2"]
    write(tmp_path / "a.ids", "\ufeffN1\nN1\nN2\n")
    assert [pair.document for pair in read(tmp_path, source="a.en", target="a.en", documents="a.ids")] == [
        "N1",
        "N1",
        "N2",
    ]
    write(tmp_path / "a.ids", "N1\n \nN2\n")
    with pytest.raises(CorpusError, match=r"a\.ids, line 2 names no document; write a name there"):
        read(tmp_path, source="a.en", target="a.en", documents="a.ids")


def test_columns_and_fields_name_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "\ufeffN 1\tone\tun\n2\ttwo\tdeux\n")
    pairs = read(tmp_path, tsv="a.tsv", columns=[1, 2], document=0)
    assert [(pair.source, pair.document) for pair in pairs] == [("one", "N 1"), ("two", "2")]
    write(
        tmp_path / "a.jsonl", '{"talk": 7, "translation": {"en": "one", "fr": "un"}}\n{"talk":"x","en":"a","fr":"b"}\n'
    )
    pairs = read(tmp_path, jsonl="a.jsonl", document="talk")
    assert [(pair.source, pair.document) for pair in pairs] == [("one", "7"), ("a", "x")]


@pytest.mark.parametrize(
    ("line", "corpus", "message"),
    [
        ("one\tun", {"tsv": "a", "document": 2}, r"line 1 has 2 .* but column 2 is requested .* set `document`"),
        ("one\tun\t ", {"tsv": "a", "document": 2}, r"line 1 names no document"),
        ('{"en": "a", "fr": "b"}', {"jsonl": "a", "document": "talk"}, r"has no field `talk` .*; set `document`"),
        (
            '{"en": "a", "fr": "b", "talk": [1]}',
            {"jsonl": "a", "document": "talk"},
            r"`talk` that is not text; set `document`",
        ),
        ('{"en": "a", "fr": "b", "talk": true}', {"jsonl": "a", "document": "talk"}, r"`talk` that is not text"),
        ('{"en": "a", "fr": "b", "talk": ""}', {"jsonl": "a", "document": "talk"}, r"line 1 names no document"),
    ],
)
def test_a_line_without_its_document_is_named(line: str, corpus: dict[str, Any], message: str, tmp_path: Path) -> None:
    write(tmp_path / "a", line)
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, **corpus)


def test_whole_documents_are_held_out(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "".join(f"sentence {n % 7}\tphrase {n}\tN{n // 10}\n" for n in range(1000)))
    parts = {
        keep: read(tmp_path, tsv="a.tsv", document=2, hold_out={"modulo": 5, "keep": keep}) for keep in ("rest", "held")
    }
    assert sorted(parts["rest"] + parts["held"]) == sorted(read(tmp_path, tsv="a.tsv", document=2))
    assert not {pair.document for pair in parts["rest"]} & {pair.document for pair in parts["held"]}
    assert 50 < len(parts["held"]) < 400


def test_links_are_read_beside_their_sentences(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "a  b\u00a0c d\n\n\ne\n")
    write(tmp_path / "a.fr", "x y\n\n\nz\n")
    (tmp_path / "links.gz").write_bytes(gzip.compress(b"0-0 2p1 1-1\n\n\n\n"))
    files = {"source": "a.en", "target": "a.fr", "links": "links.gz"}
    assert [pair.links for pair in read(tmp_path, **files)] == [
        parse_links(line) for line in ("0-0 2p1 1-1", "", "", "")
    ]
    assert [pair.links for pair in read(tmp_path, **files, documents="blank lines")] == [
        parse_links("0-0 2p1 1-1"),
        parse_links(""),
    ]


@pytest.mark.parametrize("documents", [None, "blank lines", "a.ids"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "0-0 2-0",
            r"a\.links, line 2 links source word 2, counted from 0, but that sentence has 2 words between spaces",
        ),
        ("0-0 0p1", r"a\.links, line 2 links target word 1, counted from 0, but that sentence has 1 words"),
        ("0-0 1", r"a\.links, line 2: `1` is not a link"),
    ],
)
def test_links_that_do_not_fit_are_named(line: str, message: str, documents: str | None, tmp_path: Path) -> None:
    write(tmp_path / "a.en", "a b\na\u00a0b c\nd\n")
    write(tmp_path / "a.fr", "x\ny\nz\n")
    write(tmp_path / "a.links", f"1-0\n{line}\n\n")
    write(tmp_path / "a.ids", "N 1\nN 2\nN 3\n")
    with pytest.raises((CorpusError, InputError), match=message):
        read(tmp_path, source="a.en", target="a.fr", links="a.links", documents=documents)


def test_a_boundary_cannot_have_links(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "a\n\nb\n")
    write(tmp_path / "a.links", "\n0-0\n\n")
    with pytest.raises(CorpusError, match=r"a\.links, line 2 links source word 0, .* has 0 words"):
        read(tmp_path, source="a.en", target="a.en", links="a.links", documents="blank lines")


@pytest.mark.parametrize("lines", [0, 2, 4])
@pytest.mark.parametrize("setting", ["documents", "links"])
def test_documents_and_links_of_other_files_are_refused(setting: str, lines: int, tmp_path: Path) -> None:
    write(tmp_path / "a.en", "x\n" * 3)
    write(tmp_path / "more", ("N\n" if setting == "documents" else "0-0\n") * lines)
    message = rf"a\.en has 3 lines but .*more has {lines}; parallel files must match line by line"
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, source="a.en", target="a.en", **{setting: "more"})


@pytest.mark.parametrize(
    ("corpus", "way"),
    [
        (
            {"source": "a.{source}", "target": "a.{target}"},
            r"texts/a\.en does not say where they start; give `documents: blank lines`, or `documents:` ",
        ),
        ({"tsv": "a.tsv"}, r"a\.tsv does not say where they start; give `document:` with the number of a column"),
        ({"jsonl": "a"}, r"give `document:` with the name of a field"),
        ({"text": "a"}, r"give a corpus that has documents"),
        ({"phrasebook": "train", "pairs": 1}, r"phrasebook train does not say .* give a corpus that has documents"),
    ],
)
def test_documents_without_boundaries_are_refused(corpus: dict[str, Any], way: str) -> None:
    good = [
        {"source": "a", "target": "b", "documents": "blank lines"},
        {"source": "a", "target": "b", "documents": "c"},
        {"tsv": "a", "document": 0},
        {"jsonl": "a", "document": "talk"},
    ]
    table = {"source": "en", "target": "fr", "root": "texts", "train": good}
    require_documents(parse(DataSettings, table), "the model")
    with pytest.raises(CorpusError, match=f"the model needs documents, but .*{way}"):
        require_documents(parse(DataSettings, {**table, "dev": [corpus]}), "the model")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the parallel corpora in ../shared/data")
def test_a_real_corpus_has_documents_and_links() -> None:
    parts = {
        side: f"evbnews-en-vi/dev.{end}" for side, end in (("source", "en"), ("target", "vi"), ("documents", "ids"))
    }
    pairs = read(SHARED, **parts, links="evbnews-en-vi/dev.align")
    assert len({pair.document for pair in pairs}) == 50
    assert sum(len(pair.links.sure) for pair in pairs if pair.links) == 41_152


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


def test_a_corpus_is_read_in_both_directions(tmp_path: Path) -> None:
    write(tmp_path / "a.en", "the cat\nyes\n")
    write(tmp_path / "a.fr", "le chat\noui\n")
    write(tmp_path / "a.links", "0-0 1p1\n\n")
    write(tmp_path / "a.ids", "talk\ntalk\n")
    corpus = {"source": "a.{source}", "target": "a.{target}", "documents": "a.ids", "links": "a.links"}
    there, yes, back, oui = read(tmp_path, **corpus, both_ways=True)
    assert (there.source, there.target, there.languages, there.to) == ("the cat", "le chat", ("en", "fr"), "fr")
    assert (back.source, back.target, back.languages, back.to) == ("le chat", "the cat", ("fr", "en"), "en")
    assert back.links == parse_links("0-0 1p1") and back.place == there.place
    assert (yes.document, oui.document) == ("talk", "fr-en talk"), (
        "the last sentence does not come before the first, turned round"
    )
    assert read(tmp_path, **corpus)[0] == there._replace(languages=None)


def test_both_directions_hold_out_the_same_pairs(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "".join(f"one {n}\tun {n}\n" for n in range(100)))
    kept = read(tmp_path, tsv="a.tsv", hold_out={"modulo": 3, "keep": "held"}, both_ways=True)
    assert 0 < len(kept) < 150
    assert {(pair.target, pair.source) for pair in kept if pair.to == "en"} == {
        pair[:2] for pair in kept if pair.to == "fr"
    }
    assert len(read(tmp_path, tsv="a.tsv", first=7, both_ways=True)) == 14


def test_the_first_pairs_are_of_each_direction() -> None:
    pairs = [Pair(str(n), str(n), "", languages=("en", "fr") if n < 10 else ("fr", "en")) for n in range(14)]
    assert [pair.source for pair in first_of_each_direction(pairs, 6)] == ["0", "1", "2", "10", "11", "12"]
    assert len(first_of_each_direction(pairs, 1)) == 2
    alone = [pair._replace(languages=None) for pair in pairs]
    assert first_of_each_direction(alone, 6) == alone[:6]
    assert first_of_each_direction([], 6) == []
