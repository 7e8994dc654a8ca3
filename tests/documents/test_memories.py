"""Translation memories are read, kept, and searched for what is equal or similar."""

import gzip
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.memories import NEAR, Memory, Near, beginning, open_memory, read_table, read_tmx
from dragoman.errors import InputError

LANGUAGES = ("en", "vi")
TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="en-US"/><body>
<tu><tuv xml:lang="en-US"><seg>The <hi>red</hi> house.</seg></tuv><tuv xml:lang="vi"><seg>Nhà đỏ.</seg></tuv></tu>
<tu><tuv xml:lang="vi-VN"><seg>Vâng &amp; dạ<ph>x</ph></seg></tuv><tuv xml:lang="EN"><seg>Yes</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>No</seg></tuv><tuv xml:lang="fr"><seg>Non</seg></tuv></tu></body></tmx>"""


def memory(*pairs: tuple[str, str]) -> Memory:
    """Return a memory of some translations."""
    made = Memory(":memory:", LANGUAGES, keeps=True)
    made.keep(pairs, confirmed=True)
    return made


@pytest.mark.parametrize("name", ["a.tmx", "a.TMX", "a.tmx.gz"])
def test_a_tmx_file_is_read_without_its_tags(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TMX.encode()) if name.endswith(".gz") else TMX.encode())
    assert read_tmx(path, ("en-GB", "vi")) == [("The red house.", "Nhà đỏ."), ("Yes", "Vâng & dạ")]
    found = open_memory(path, LANGUAGES)
    assert not found.keeps and len(found) == 2 and found.exact("The  red\nhouse.") == "Nhà đỏ."
    assert path.read_bytes()


@pytest.mark.parametrize("place", ["tu", "tuv"])
def test_of_several_translations_in_a_tmx_file_that_which_was_changed_last_counts(tmp_path: Path, place: str):
    dates = ["2025-03-04T00:00:00Z", "20250305T000000Z", "20240101T000000Z"]
    units = [
        f'<{name}><tuv xml:lang="en"><seg>Yes</seg></tuv><{text} xml:lang="vi"><seg>{number}</seg></tuv></tu>'
        for number, date in enumerate(dates)
        for name, text in [(f'tu changedate="{date}"', "tuv") if place == "tu" else ("tu", f'tuv changedate="{date}"')]
    ]
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx><body>{''.join(units)}</body></tmx>", encoding="utf-8")
    assert open_memory(path, LANGUAGES).exact("Yes") == "1"


def test_a_language_is_the_same_under_the_code_of_an_imported_model(tmp_path: Path):
    path, stored = tmp_path / "a.tmx", tmp_path / "m.sqlite"
    path.write_text(TMX, encoding="utf-8")
    assert read_tmx(path, ("eng_Latn", "vie_Latn")) == read_tmx(path, ("en_XX", "vi_VN")) == read_tmx(path, LANGUAGES)
    kept = open_memory(stored, LANGUAGES)
    kept.keep([("Yes", "Vâng")], confirmed=True)
    kept.close()
    found = open_memory(stored, ("eng_Latn", "vie_Latn"))
    assert found.exact("Yes") == "Vâng"
    found.close()


def test_what_is_kept_is_there_next_time_and_for_its_languages_alone(tmp_path: Path):
    path = tmp_path / "m.sqlite"
    first = open_memory(path, LANGUAGES)
    first.keep([("Red  house", "Nhà đỏ"), (" ", "x"), ("y", "")], confirmed=False)
    first.close()
    again = open_memory(path, ("en-US", "VI"))
    assert (len(again), again.exact(" Red house"), again.exact("red house")) == (1, "Nhà đỏ", None)
    again.close()
    other = open_memory(path, ("vi", "en"))
    assert len(other) == 0 and other.exact("Red house") is None
    other.close()


def test_a_correction_takes_the_place_of_a_translation_and_not_the_other_way_round():
    found = memory()
    found.keep([("a", "one")], confirmed=False)
    found.keep([("a", "two")], confirmed=True)
    found.keep([("a", "three")], confirmed=False)
    assert found.exact("a") == "two"
    found.keep([("a", "four")], confirmed=True)
    assert found.exact("a") == "four"


def test_quotes_are_text_and_no_part_of_a_statement():
    nasty = "x'); DROP TABLE translations; --"
    assert memory((nasty, nasty)).exact(nasty) == nasty


def test_similar_sentences_are_offered_most_similar_first():
    found = memory(
        ("I have two cats.", "a"), ("I have two dogs.", "b"), ("We like to travel.", "c"), ("I have two cats!", "d")
    )
    near = found.near("I have  two cats")
    assert [one.translation for one in near] == ["d", "a", "b"]
    assert near[0].similarity == 0.9677
    assert found.near("Nothing like it at all") == []


@given(st.lists(st.text("abc de", min_size=1, max_size=12), max_size=6), st.text("abc de", max_size=12))
def test_what_is_offered_is_similar(sources: list[str], sentence: str):
    for one in memory(*((source, "x") for source in sources)).near(sentence):
        assert NEAR <= one.similarity <= 1 and any(" ".join(source.split()) == one.source for source in sources)


@pytest.mark.parametrize(
    ("sentence", "links", "words"),
    [
        ("a b c d x", "0-0 1-1 2-2 3-3 4-4", "A B C"),
        ("a b c x y", "0-0 1-1 2-2 3-3 4-4", "A B"),
        ("a b c x y", "1-0 0-1 2-2 3-3 4-4", "A B"),
        ("a b c x y", "2-0 0-1 1-2 3-3 4-4", ""),
        ("a b c x y", "0-0 1-2 2-1 3-3 4-4", "A"),
        ("a b c d x", "0-0 2-2 3-3 4-4", "A"),
        ("a b c d x", "0-0 1-1 3-1 2-2 4-4", "A"),
        ("x b c d e", "0-0 1-1 2-2 3-3 4-4", ""),
        ("a b c d e f", "0-0 1-1 2-2 3-3 4-4", "A B C D"),
        ("a b", "0-0 1-1 2-2 3-3 4-4", "A"),
        ("a b c d x", "", ""),
    ],
)
def test_a_beginning_has_words_linked_to_the_common_beginning_alone(sentence: str, links: str, words: str):
    pairs = [(int(here), int(there)) for here, there in (one.split("-") for one in links.split())]
    assert beginning(sentence, Near("a b c d e", "A B C D E", 0.8), pairs) == words


def test_files_that_are_no_memory_are_refused(tmp_path: Path):
    (tmp_path / "a.sqlite").write_bytes(b"nothing " * 20)
    (tmp_path / "b.tmx").write_text(TMX, encoding="utf-8")
    sqlite3.connect(tmp_path / "c.sqlite").execute("CREATE TABLE translations (a)").connection.close()
    (tmp_path / "d.sqlite").mkdir()
    for name, languages, words in (
        ("a.sqlite", LANGUAGES, "another .sqlite file"),
        ("b.tmx", ("en", "de"), "from `en` into `de`"),
        ("c.sqlite", LANGUAGES, "another .sqlite file"),
        ("d.sqlite", LANGUAGES, "no file"),
        ("none/e.sqlite", LANGUAGES, "another .sqlite file"),
        ("f.txt", LANGUAGES, ".sqlite file to keep"),
        ("none.tmx", LANGUAGES, "exists"),
    ):
        with pytest.raises(InputError, match=words):
            open_memory(tmp_path / name, languages).exact("a")


def test_what_does_not_fit_into_a_full_memory_asks_for_room(tmp_path: Path):
    memory = open_memory(tmp_path / "m.sqlite", LANGUAGES)
    memory._run("PRAGMA max_page_count = 4")
    with pytest.raises(InputError, match="make room"):
        memory.keep([(f"word {number}" * 20, "x") for number in range(1000)], confirmed=True)
    assert len(memory) == 0


@pytest.mark.parametrize("line", ["a", "a\t", "\tb", "a\tb\tc"])
def test_a_line_that_is_no_pair_is_refused(line: str):
    with pytest.raises(InputError, match=r"line 2 of t\.tsv"):
        read_table(["a\tb", line], "t.tsv")


@pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_accents_may_be_signs_of_their_own_in_either(kept: str, asked: str):
    made = memory((unicodedata.normalize(kept, "Tòa án ở đây."), "The court is here."))
    sentence = unicodedata.normalize(asked, "Tòa án ở đây.")
    assert made.exact(sentence) == "The court is here."
    (near,) = made.near(sentence.replace("y.", "y!"))
    assert near.similarity > 0.9
    assert beginning(sentence, near, [(1, 0), (1, 1), (2, 2), (3, 3)]) == "The court is"
