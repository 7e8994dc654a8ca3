"""SentencePiece models as bytes."""

from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor
from tests.pretrained.tokenizer_files import ENDS, ODD, SPECIAL, sentencepiece, texts

from dragoman.text.sentencepiece_models import BPE, UNIGRAM, UNKNOWN, Piece, model_of, with_pieces

KINDS = [("unigram", UNIGRAM), ("bpe", BPE)]
TEXTS = (*texts()[:500], *ODD, *ENDS, *SPECIAL)


def read(model: bytes) -> Any:
    """Read a model."""
    return SentencePieceProcessor(model_proto=model)


@pytest.mark.parametrize(("kind", "type_"), KINDS)
def test_a_model_made_of_pieces_cuts_as_the_original(kind: str, type_: int) -> None:
    original = read(sentencepiece(texts(), kind=kind, rule="identity"))
    pieces = [
        Piece(original.id_to_piece(index), original.get_score(index), UNKNOWN if index == 0 else 3 if index < 3 else 1)
        for index in range(len(original))
    ]
    made = read(model_of(pieces, type_=type_))
    for text in TEXTS:
        assert made.encode(text) == original.encode(text)


@pytest.mark.parametrize(("kind", "_"), KINDS)
def test_new_characters_are_found_and_all_other_text_is_cut_as_before(kind: str, _: int) -> None:
    model = sentencepiece(texts(), kind=kind)
    original, larger = read(model), read(with_pieces(model, ["ʔ", "ə"], ["<to lo>"]))
    size = len(original)
    assert [larger.id_to_piece(size + index) for index in range(3)] == ["ʔ", "ə", "<to lo>"]
    for text in TEXTS:
        assert larger.encode(text) == original.encode(text)
    assert larger.encode("ʔəʔ cats", out_type=str) == ["▁", "ʔ", "ə", "ʔ", *larger.encode("cats", out_type=str)]
    assert size + 2 not in larger.encode("say <to lo> now")
    assert larger.is_control(size + 2)


@pytest.mark.parametrize("new", ["q", "z"])
def test_a_new_character_scores_so_that_a_unigram_model_cuts_old_text_as_before(new: str) -> None:
    """If it scored higher, "q" and "u" would win "qu"; if lower, so would what is unknown, and "qu" and "x" would win "qux"."""
    scores = {"▁": -1.0, "u": -0.1, "x": -20.0, "qu": -20.0, "ux": -1.0}
    model = model_of([Piece("<unk>", 0, UNKNOWN), *(Piece(*one) for one in scores.items())], type_=UNIGRAM)
    for found in (read(model), read(with_pieces(model, [new]))):
        assert found.encode("qu", out_type=str) == ["▁", "qu"]
        assert found.encode("qux", out_type=str) == ["▁", "q", "ux"]
