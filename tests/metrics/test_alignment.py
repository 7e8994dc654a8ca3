"""Pharaoh links and the alignment error rate."""

import pytest

from dragoman.errors import InputError
from dragoman.metrics import Links, alignment_error_rate, format_links, parse_links


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


def test_the_error_rate_is_the_equation_of_och_and_ney() -> None:
    found, gold = parse_links("0-0 1-1 2-2 3-3"), parse_links("0-0 1-1 2p2 4-4")
    assert alignment_error_rate([found], [gold]) == pytest.approx(1 - (2 + 3) / (4 + 3))


def test_a_perfect_alignment_need_not_have_the_possible_links() -> None:
    gold = parse_links("0-0 1-1 2p2")
    assert alignment_error_rate([parse_links("0-0 1-1")], [gold]) == 0
    assert alignment_error_rate([parse_links("0-0 1-1 2-2")], [gold]) == 0
    assert alignment_error_rate([parse_links("5-5")], [gold]) == 1


def test_counts_are_added_before_the_one_division() -> None:
    found = [parse_links("0-0"), parse_links("0-0 1-1 2-2")]
    gold = [parse_links("0-1"), parse_links("0-0 1-1 2-2")]
    assert alignment_error_rate(found, gold) == pytest.approx(1 - 6 / 8)


def test_sentences_without_links_are_fine_among_others() -> None:
    assert alignment_error_rate([parse_links(""), parse_links("0-0")], [parse_links(""), parse_links("0-0")]) == 0


def test_what_has_no_error_rate_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        alignment_error_rate([parse_links("0-0")], [])
    assert str(caught.value) == "there are 1 alignments but 0 gold ones; they must match line by line"
    with pytest.raises(InputError) as caught:
        alignment_error_rate([parse_links("")], [parse_links("")])
    assert str(caught.value) == (
        "there is no link in the alignments or the gold ones, so there is no error rate; check the files"
    )
