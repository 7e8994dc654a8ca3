"""How well links found agree with gold ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.metrics import (
    Links,
    alignment_error_rate,
    alignment_scores,
    check_links,
    format_links,
    parse_links,
    words_only,
)


def test_the_error_rate_is_the_equation_of_och_and_ney() -> None:
    found, gold = parse_links("0-0 1-1 2-2 3-3"), parse_links("0-0 1-1 2p2 4-4")
    assert alignment_error_rate([found], [gold]) == pytest.approx(1 - (2 + 3) / (4 + 3))


def test_precision_counts_possible_links_and_recall_sure_ones() -> None:
    found, gold = parse_links("0-0 1-1 2-2 3-3"), parse_links("0-0 1-1 2p2 4-4")
    score = alignment_scores([found], [gold])
    assert (score.precision, score.recall) == pytest.approx((3 / 4, 2 / 3))
    nothing = alignment_scores([parse_links("")], [gold])
    assert (nothing.error_rate, nothing.precision, nothing.recall) == (1, 1, 0)


def test_words_without_letter_or_digit_can_be_left_out() -> None:
    links = parse_links("0-0 1-1 2p2 3-3 0-3")
    assert format_links(words_only(links, ["a", "``", "3", "?!"], ["Ể", "b", "n't", "..."])) == "0-0 2p2"


def test_links_beyond_the_sentences_are_refused() -> None:
    check_links(parse_links("1-2"), 2, 3)
    for line in ("2-0", "0p3"):
        with pytest.raises(InputError) as caught:
            check_links(parse_links(f"0-0 {line}"), 2, 3, where="gold, line 4")
        assert str(caught.value) == (
            f"gold, line 4: the link {line.replace('p', '-')} points beyond a sentence pair of 2 and 3 words, which count "
            "from 0; check that the links belong to this text"
        )
    with pytest.raises(InputError, match="points beyond"):
        words_only(Links(frozenset({(0, 9)})), ["a"], ["b"])


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
    assert "no links" in str(caught.value) and "check the files" in str(caught.value)


LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=3))
def test_the_error_rate_is_that_of_all_links_counted_one_by_one(
    rows: list[tuple[frozenset[tuple[int, int]], ...]],
) -> None:
    found = [Links(own) for own, _, _ in rows]
    gold = [Links(sure, sure | more) for _, sure, more in rows]
    links, sure, right_sure, right = 0, 0, 0, 0
    for own, reference in zip(found, gold, strict=True):
        for link in own.sure:
            links, right_sure, right = (
                links + 1,
                right_sure + (link in reference.sure),
                right + (link in reference.possible),
            )
        sure += len(reference.sure)
    if links + sure == 0:
        with pytest.raises(InputError, match="no links"):
            alignment_scores(found, gold)
        return
    scores = alignment_scores(found, gold)
    assert scores.error_rate == pytest.approx(1 - (right_sure + right) / (links + sure)) and 0 <= scores.error_rate <= 1
    assert scores.precision == (right / links if links else 1) and scores.recall == (right_sure / sure if sure else 1)
