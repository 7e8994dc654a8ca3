"""Views of many lines at once."""

import re
import unicodedata

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.corpus import Pair
from dragoman.doctor import characters
from dragoman.doctor.chunk import SIZE, Chunk, Side, chunks

LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=9)


def pairs(count: int) -> list[Pair]:
    """Return pairs of nothing much."""
    return [Pair(f"{number}", "x", f"a, line {number + 1}") for number in range(count)]


@given(LINES)
def test_counts_are_those_of_each_line(lines: list[str]) -> None:
    side = Side(lines)
    joined = [line.replace("\n", "\u2028") for line in lines]
    assert side.codes.lengths.tolist() == [len(line.encode("utf-16-le")) // 2 for line in joined]
    basic = [line for line in joined if all(ord(character) < 0x10000 for character in line)]
    assert Side(basic or ["a"]).words.tolist() == [len(line.split()) for line in basic or ["a"]]
    letters = [sum(one.isalpha() or one.isdigit() for one in line) for line in basic or ["a"]]
    assert Side(basic or ["a"]).letters.tolist() == letters


def test_words_without_spaces_between_them_are_counted_by_their_letters() -> None:
    side = Side(["I like cats.", "我喜欢猫和狗。", "ฉันชอบแมวและสุนัข", "Chúng tôi thích mèo.", ""])
    assert side.spoken.tolist() == [3, 4, 5, 4, 0]
    assert side.words.tolist() == [3, 1, 1, 4, 0]


@given(LINES)
def test_lines_have_the_same_hash_if_they_are_the_same(lines: list[str]) -> None:
    side = Side(lines)
    hashes = side.codes.hashes.tolist()
    assert 0 not in hashes
    assert len(set(hashes)) == len({line.replace("\n", "\u2028") for line in lines})


def test_hashes_do_not_depend_on_the_lines_around() -> None:
    assert Side(["x", "one two"]).codes.hashes[1] == Side(["one two", "", "y"]).codes.hashes[0]
    assert Side(["ab"]).codes.hashes[0] != Side(["ba"]).codes.hashes[0]


def test_folded_lines_have_letters_and_digits_alone() -> None:
    side = Side(["Café 12!", "cafe\u0301  99", "—", "CAFÉ 123"])
    first, second, third, fourth = side.folded.hashes.tolist()
    assert first == second and len({first, third, fourth}) == 3
    assert side.folded.lengths.tolist() == [6, 6, 0, 7]


def test_patterns_and_bits_find_lines() -> None:
    side = Side(["a", "", "b\u00a0\U0001f600", "\U0001f600 b", "ab"])
    assert side.matching(re.compile("b")).tolist() == [2, 3, 4]
    assert side.matching(re.compile("q")).tolist() == []
    assert side.flagged(characters.ODD_SPACE).tolist() == [2]
    assert side.flagged(characters.CONTROL).tolist() == []
    assert not side.uncomposed.size


@given(LINES)
def test_lines_that_are_not_in_nfc_are_found(lines: list[str]) -> None:
    side = Side([*lines, "e\u0301", "\u1100\u1161", "\U0001d15e", "\u0340", "\u09c7\u09be", "\u00e9"])
    expected = [row for row, line in enumerate(side.lines) if not unicodedata.is_normalized("NFC", line)]
    assert side.uncomposed.tolist() == expected and len(expected) >= 5


def test_the_hash_of_a_line_is_that_of_its_text() -> None:
    hashes = Side(["", "x", "one two", "x"]).hashes.tolist()
    assert 0 not in hashes and hashes[1] == hashes[3] and len(set(hashes)) == 3


def test_pairs_are_cut_into_chunks() -> None:
    found = list(chunks(pairs(SIZE + 2)))
    assert [(one.first, len(one)) for one in found] == [(0, SIZE), (SIZE, 2)]
    assert found[1].source.lines == [f"{SIZE}", f"{SIZE + 1}"]


def test_flags_of_one_name_are_joined() -> None:
    chunk = Chunk(pairs(5), 0)
    chunk.flag("a", np.array([1, 3]))
    chunk.flag("a", np.array([0, 3]))
    assert chunk.found["a"].tolist() == [0, 1, 3]
