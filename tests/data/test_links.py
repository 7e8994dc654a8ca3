"""Word links between the pieces of a pair."""

import numpy as np
import pytest

from dragoman.data.links import link_tokens, normalized_links
from dragoman.text import CharactersSettings, Codec, learn_codecs
from dragoman.text.links import parse_links


@pytest.fixture
def codecs() -> tuple[Codec, Codec]:
    """Return codecs of characters."""
    return learn_codecs(CharactersSettings(lower=True), lambda: [("abcdefgh", "xyz")])


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("a b c", "x y", "0-1 2p0", [(0, 1), (2, 0)]),
        ("A B C", "X Y", "0-1 2p0", [(0, 1), (2, 0)]),
        (" a  b c", "x y ", "0-1 2p0", [(0, 1), (2, 0)]),
        ("a\u00a0b c", "x y", "0-0 1-1", [(0, 0), (1, 0), (2, 1)]),
        ("a \u200b c", "x y", "0-0 1-1 2-1", [(0, 0), (1, 1)]),
        ("a \u200b c\u00a0d", "x y", "0-0 1-1 2-1", [(0, 0), (1, 1), (2, 1)]),
        ("", "", "", []),
    ],
)
def test_links_follow_the_words_of_normalised_text(
    source: str, target: str, links: str, expected: list[tuple[int, int]], codecs: tuple[Codec, Codec]
) -> None:
    assert normalized_links(parse_links(links), (source, target), codecs) == expected


def test_pieces_are_linked_where_their_words_are() -> None:
    links = np.array([[0, 1], [2, 0], [2, 1]], np.int32)
    source, target = [0, 0, 1, 2, 2], [0, 1, 1]
    linked = link_tokens(links, source, target)
    expected = {(i, j) for i, j in links.tolist()}
    assert linked.tolist() == [[(i, j) in expected for i in source] for j in target]


def test_pieces_of_no_word_are_linked_to_nothing() -> None:
    linked = link_tokens(np.array([[0, 0], [1, 1]], np.int32), [-1, 0, 1], [0, 1, -1])
    assert linked.tolist() == [[False, True, False], [False, False, True], [False, False, False]]


def test_a_link_to_a_word_without_pieces_links_nothing() -> None:
    assert not link_tokens(np.array([[5, 7]], np.int32), [0, 1], [0]).any()
    assert link_tokens(np.zeros((0, 2), np.int32), [], [0]).shape == (1, 0)


def test_a_token_of_no_word_is_linked_to_none() -> None:
    links = np.array([[0, 0], [1, 1]], np.int32)
    assert link_tokens(links, [-1, 0, 1], [0, 1]).astype(int).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert not link_tokens(links, [-1], [-1]).any()
