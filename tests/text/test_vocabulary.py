"""Numbers for pieces."""

import pytest

from dragoman.errors import TextError
from dragoman.interfaces import BOS, EOS, PAD, UNK
from dragoman.text import vocabulary as module
from dragoman.text.vocabulary import Vocabulary


def test_special_ids_are_those_of_the_models() -> None:
    assert (module.PAD, module.BOS, module.EOS, module.UNK) == (PAD, BOS, EOS, UNK)


def test_pieces_and_ids_belong_together() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert list(vocabulary) == ["<pad>", "<s>", "</s>", "<unk>", "a", "b"]
    assert [vocabulary.piece(vocabulary.id(piece)) for piece in vocabulary] == list(vocabulary)
    assert len(vocabulary) == 6


def test_a_piece_that_is_not_there_is_unknown() -> None:
    assert Vocabulary(["a"]).id("b") == UNK


@pytest.mark.parametrize("index", [-1, 5])
def test_an_id_that_is_not_there_has_no_piece(index: int) -> None:
    with pytest.raises(IndexError):
        Vocabulary(["a"]).piece(index)


@pytest.mark.parametrize("pieces", [["a", "b", "a"], ["<s>"]])
def test_a_piece_that_stands_twice_is_refused(pieces: list[str]) -> None:
    with pytest.raises(TextError, match=f"'{pieces[-1]}' is in a vocabulary twice"):
        Vocabulary(pieces)
