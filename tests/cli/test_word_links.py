"""Word alignments in files."""

from pathlib import Path

import pytest

from dragoman.cli.word_links import check_lines, parse_lines, words
from dragoman.errors import InputError

GOLD = Path("gold.links")


def test_each_line_has_its_links() -> None:
    assert [sorted(links.sure) for links in parse_lines(GOLD, ["0-0 2-1", "", "1-0"])] == [
        [(0, 0), (2, 1)],
        [],
        [(1, 0)],
    ]


def test_what_is_no_link_is_refused_with_file_and_line() -> None:
    with pytest.raises(InputError, match=r"^gold\.links, line 2: `0:0`"):
        parse_lines(GOLD, ["0-0", "0:0"])


@pytest.mark.parametrize("link", ["2-0", "0-1"])
def test_links_beyond_a_sentence_are_refused_with_file_and_line(link: str) -> None:
    links = parse_lines(GOLD, ["0-0", link])
    with pytest.raises(InputError, match=rf"^gold\.links, line 2: the link {link} .*2 and 1 words"):
        check_lines(GOLD, links, ["a", "a b"], targets=["a", "a"])
    check_lines(GOLD, links, ["a", "a b c"], targets=["a", "a b"])


def test_words_are_what_stands_between_spaces() -> None:
    assert words(["it's  so.", "", " a "]) == [["it's", "so."], [], ["a"]]
