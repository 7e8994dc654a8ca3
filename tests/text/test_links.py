"""Word links in the Pharaoh format."""

import pytest

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
