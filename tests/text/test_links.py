"""Word links in the Pharaoh format."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.links import Links, format_links, parse_links


def test_sure_links_are_possible_too() -> None:
    links = parse_links("0-0 1p2  3-1\n")
    assert links == Links(frozenset({(0, 0), (3, 1)}), frozenset({(0, 0), (3, 1), (1, 2)}))


def test_links_survive_writing_and_reading() -> None:
    assert format_links(parse_links("10-2 2-10 2p3")) == "2p3 2-10 10-2"
    assert format_links(parse_links("")) == ""


@pytest.mark.parametrize("word", ["0", "0-", "-1", "a-1", "0_1", "0-1-2", "0p-1", "1.0-2", "\u0661-\u0662"])
def test_a_word_that_is_no_link_is_refused_with_its_place(word: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_links(f"0-0 {word} 1-1", "gold.txt line 7")
    assert str(caught.value) == (
        f"gold.txt line 7: `{word}` is not a link; write i-j (sure) or ipj (possible), counted from 0"
    )


def test_a_number_of_thousands_of_digits_is_no_position() -> None:
    with pytest.raises(InputError, match=r"alignment: `0-9{75}\.\.\.` is not a link"):
        parse_links("0-" + "9" * 5000)


POSITIONS = st.frozensets(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=9)


@given(POSITIONS, POSITIONS)
def test_any_links_survive_writing_reading_and_turning(sure: frozenset[Any], possible: frozenset[Any]) -> None:
    links = Links(sure, possible)
    assert parse_links(format_links(links)) == links == links.flipped().flipped()
    assert {(j, i) for i, j in links.flipped().possible} == sure | possible


@given(st.text("0123456789-p \t\u0661x", max_size=30))
def test_any_line_is_links_or_refused(line: str) -> None:
    with suppress(InputError):
        assert len(parse_links(line).possible) <= len(line.split())
