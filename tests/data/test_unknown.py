"""What word links tell of unknown words."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.encode import Row, encode_rows
from dragoman.data.unknown import learn_dictionary, mark_unknown_positions, read_dictionary, split_links
from dragoman.errors import CorpusError
from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.links import Links, parse_links
from dragoman.text.settings import WordsSettings
from dragoman.text.vocabulary import UNK

PAIRS = [("the cat sees", "le chat voit"), ("the cat sees", "le chat voit")]


def codecs(unknown: str = "positional", reach: int = 2) -> tuple[Codec, Codec]:
    return learn_codecs(WordsSettings(unknown=unknown, reach=reach, minimum_count=1), lambda: PAIRS)


def pieces(row: Row, pair: tuple[Codec, Codec]) -> list[str]:
    """The target of a row as it is encoded."""
    return pair[1].pieces(encode_rows([row], pair).column("target")[0].as_py())


def test_an_unknown_word_tells_where_the_word_stands_that_it_is_linked_to() -> None:
    row = Row("the Vexnar cat sees", "le chat Vexnar voit", parse_links("0-0 1-2 2-1 3-3"))
    assert pieces(row, codecs()) == ["le", "chat", "<unk+1>", "voit"]


def test_a_word_before_its_source_word_has_a_negative_offset() -> None:
    assert pieces(Row("the cat Quim", "Quim chat", parse_links("2-0 1-1")), codecs()) == ["<unk-2>", "chat"]


def test_an_unknown_word_without_links_or_out_of_reach_stays_as_it_is() -> None:
    row = Row("the cat sees Quim", "Quim Vex", parse_links("3-0"))
    assert pieces(row, codecs()) == ["<unk>", "<unk>"]
    assert pieces(row, codecs(reach=3)) == ["<unk-3>", "<unk>"]
    assert pieces(Row("the cat", "Quim Vex"), codecs()) == ["<unk>", "<unk>"]


def test_a_plain_codec_leaves_unknown_words_alone() -> None:
    assert pieces(Row("the Quim", "le Quim", parse_links("1-1")), codecs("plain")) == ["le", "<unk>"]


def test_of_several_links_the_nearest_is_told_and_of_two_equally_near_the_earlier() -> None:
    def told(*linked: int) -> list[str]:
        links = np.zeros((3, 4), bool)
        links[1, list(linked)] = True
        target = codecs()[1]
        return target.pieces(mark_unknown_positions([UNK] * 3, links, target))

    assert told(3, 2) == ["<unk>", "<unk-1>", "<unk>"]
    assert told(2, 0) == ["<unk>", "<unk+1>", "<unk>"]


def test_positions_count_pieces_though_links_count_words() -> None:
    texts = ("(the cat) Quim", "le (Quim)")
    linked = split_links(parse_links("2-1"), texts, codecs())
    assert linked.shape == (4, 5)
    assert np.argwhere(linked).tolist() == [[1, 4], [2, 4], [3, 4]]
    assert pieces(Row(*texts, parse_links("2-1")), codecs())[2] == "<unk-2>"


def test_a_dictionary_has_the_most_frequent_link_of_each_word() -> None:
    both = parse_links("0-0 1-1")
    rows = [("a cat", "un chat", both), ("a cat", "un chat", both), ("a cat.", "une chatte.", both)]
    assert learn_dictionary([*rows, ("b", "c", None)], codecs()) == {"a": "un", "cat": "chat"}


def test_of_equally_frequent_translations_the_first_in_the_alphabet_is_taken() -> None:
    rows = [("a", other, Links(frozenset({(0, 0)}))) for other in ("z", "y")]
    assert learn_dictionary(rows, codecs()) == {"a": "y"}


def test_a_dictionary_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("cat\tchat\nold\tvieux\n", encoding="utf-8")
    assert read_dictionary(path) == {"cat": "chat", "old": "vieux"}


@pytest.mark.parametrize("line", ["old vieux", "old\t", "\tvieux", "old\tvieux\tvieille", ""])
def test_an_odd_line_of_a_dictionary_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(f"cat\tchat\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"words\.tsv, line 2 is not a word, a tab and its translation; write it so"):
        read_dictionary(path)
