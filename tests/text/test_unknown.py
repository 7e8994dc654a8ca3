"""Unknown words that tell where in the source they come from."""

import pytest

from dragoman.errors import SettingsError
from dragoman.settings import parse
from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.settings import WordsSettings
from dragoman.text.unknown import offset_of, positional_piece, positional_pieces
from dragoman.text.vocabulary import UNK

TEXTS = [("the old sea", "la mer"), ("the sea", "la vieille mer")]


def codecs(**settings: object) -> tuple[Codec, Codec]:
    return learn_codecs(WordsSettings(**{"unknown": "positional", "reach": 2, **settings}), lambda: TEXTS)


def test_every_offset_within_reach_has_a_piece() -> None:
    assert [offset_of(piece) for piece in positional_pieces(7)] == list(range(-7, 8))


@pytest.mark.parametrize("text", ["<unk>", "<unk3>", "unk+3", "<unk+3> ", "<unk+>", "a"])
def test_other_words_tell_no_offset(text: str) -> None:
    assert offset_of(text) is None


def test_a_positional_vocabulary_knows_them_and_a_plain_one_does_not() -> None:
    target = codecs()[1]
    assert target.positional
    assert list(target.tokenizer.vocabulary)[4:9] == positional_pieces(2)
    assert not codecs(unknown="plain")[1].positional


def test_no_text_is_cut_into_them() -> None:
    target = codecs()[1]
    for text in ("<unk+1>", "la <unk-2>mer", "<unk+0> <unk+1>"):
        assert not {target.tokenizer.vocabulary.id(positional_piece(offset)) for offset in range(-2, 3)} & {
            *target.encode(text)
        }
    assert target.encode("le") == [UNK]


def test_the_size_of_a_vocabulary_counts_them() -> None:
    assert len(codecs(size=11, minimum_count=1)[1]) == 11


def test_a_vocabulary_without_room_for_a_word_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"`text\.size` is 19, but 19 tokens come before the first word"):
        parse(WordsSettings, {"unknown": "positional", "size": 19})


def test_each_piece_of_a_text_has_its_word_known_or_not() -> None:
    assert codecs()[0].owners("the olde, (sea)") == [0, 1, 1, 2, 2, 2]
