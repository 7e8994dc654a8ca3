"""Words and characters as pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.text.normalize import normalize
from dragoman.text.settings import CharactersSettings, WordsSettings
from dragoman.text.vocabulary import UNK
from dragoman.text.words import join_words, learn_characters, learn_words, split_words


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("I like it.", ["I", "like", "it", "￭."]),
        ("J'aime l'école !", ["J", "￭'￭", "aime", "l", "￭'￭", "école", "!"]),
        ("(yes)", ["(￭", "yes", "￭)"]),
        ("what?!", ["what", "￭?", "￭!"]),
        ('?! "', ["?", "￭!", '"']),
        ("1,000.5", ["1", "￭,￭", "000", "￭.￭", "5"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_punctuation_marks_are_pieces_that_know_their_neighbours(text: str, pieces: list[str]) -> None:
    assert split_words(text) == pieces
    assert "".join(join_words(pieces)).strip() == text


@given(st.text())
def test_words_put_together_again_are_the_text(text: str) -> None:
    normalized = normalize(text)
    assert "".join(join_words(split_words(normalized))).strip() == normalized


def test_the_most_frequent_words_get_the_first_ids() -> None:
    words = learn_words(["b a b", "b c a d"], WordsSettings(minimum_count=1))
    assert list(words.vocabulary)[4:] == ["b", "a", "c", "d"]
    reordered = learn_words(["d a c b", "b a b"], WordsSettings(minimum_count=1))
    assert list(reordered.vocabulary) == list(words.vocabulary), "of equally frequent ones, whatever came first"


def test_rare_words_are_unknown() -> None:
    words = learn_words(["b a b", "b c a"], WordsSettings())
    assert words.encode("a c b") == [words.vocabulary.id("a"), UNK, words.vocabulary.id("b")]


def test_a_vocabulary_is_no_larger_than_asked_for() -> None:
    assert len(learn_words(["a b c d e"], WordsSettings(minimum_count=1, size=6)).vocabulary) == 6
    assert len(learn_characters(["abcde"], CharactersSettings(size=6)).vocabulary) == 6


def test_a_space_is_a_character() -> None:
    characters = learn_characters(["a b"], CharactersSettings())
    pieces = [characters.vocabulary.piece(index) for index in characters.encode("b a")]
    assert pieces == ["b", "▁", "a"]
    assert characters.surfaces(pieces) == ["b", " ", "a"]


def test_an_empty_text_gives_no_vocabulary() -> None:
    with pytest.raises(TextError, match="there is no text to learn a vocabulary from"):
        learn_words(["", ""], WordsSettings())


def test_a_text_of_rare_words_gives_no_vocabulary() -> None:
    with pytest.raises(TextError, match=r"no token of the text occurs 2 times; set text\.minimum_count to 1"):
        learn_words(["each word once"], WordsSettings())
