"""Unknown words are taken from the source."""

import torch

from dragoman.decoding import replace_positional, replace_unknown

ATTENTION = torch.tensor([[0.1, 0.8, 0.1], [0.6, 0.3, 0.1], [0.0, 0.1, 0.9]])


def test_an_unknown_word_becomes_the_source_word_it_attended_to() -> None:
    assert replace_unknown(["<unk>", "the", "<unk>"], ATTENTION, ["a", "b", "c"]) == ["b", "the", "c"]


def test_a_dictionary_translates_the_source_word() -> None:
    found = replace_unknown(["<unk>", "<unk>"], ATTENTION, ["a", "b", "c"], dictionary={"b": "B"})
    assert found == ["B", "a"]


def test_positions_beyond_the_words_are_not_considered() -> None:
    assert replace_unknown(["the", "on", "<unk>"], ATTENTION, ["a", "b"]) == ["the", "on", "b"]


def test_an_empty_source_leaves_words_as_they_are() -> None:
    assert replace_unknown(["<unk>"], ATTENTION, []) == ["<unk>"]


def test_the_mark_of_the_unknown_can_be_another() -> None:
    assert replace_unknown(["<unk>", "??"], ATTENTION, ["a", "b"], unknown="??") == ["<unk>", "a"]


def test_an_unknown_word_that_tells_where_it_comes_from_becomes_that_source_word() -> None:
    found = replace_positional(["the", "<unk-1>", "<unk+2>", "<unk>"], ["a", "b", "c"])
    assert found == ["the", "c", "a", "<unk>"]


def test_the_source_word_is_translated_where_a_dictionary_has_it() -> None:
    assert replace_positional(["<unk+0>", "<unk+0>"], ["a", "b"], dictionary={"b": "B"}) == ["a", "B"]


def test_one_that_points_beyond_the_source_is_just_unknown() -> None:
    assert replace_positional(["<unk+1>", "<unk-1>"], ["a", "b"]) == ["<unk>", "<unk>"]
