"""Subwords by SentencePiece."""

import pickle
import random
import signal
from collections.abc import Iterator
from typing import Literal

import pytest

from dragoman.errors import CorpusError, TextError
from dragoman.text.pieces import SentencePiece, learn_pieces
from dragoman.text.settings import SentencePieceSettings
from dragoman.text.vocabulary import SPECIAL, UNK

TEXT = [
    "the cat sat on the mat",
    "a dog ate my homework",
    "con mèo ngồi trên chiếc thảm",
    "the dogs sat and the cats ate",
] * 5
ALGORITHMS: tuple[Literal["bpe", "unigram"], ...] = ("bpe", "unigram")


def settings(algorithm: Literal["bpe", "unigram"], size: int = 34) -> SentencePieceSettings:
    """Return settings that fit TEXT."""
    return SentencePieceSettings(algorithm=algorithm, size=size)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_vocabulary_has_the_size_asked_for_and_begins_with_the_special_pieces(
    algorithm: Literal["bpe", "unigram"],
) -> None:
    pieces = list(learn_pieces(TEXT, settings(algorithm)).vocabulary)
    assert len(pieces) == 34
    assert tuple(pieces[:4]) == SPECIAL


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_text_gives_the_same_model(algorithm: Literal["bpe", "unigram"]) -> None:
    assert learn_pieces(TEXT, settings(algorithm)).model == learn_pieces(iter(TEXT), settings(algorithm)).model


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_learning_prints_nothing(algorithm: Literal["bpe", "unigram"], capfd: pytest.CaptureFixture[str]) -> None:
    learn_pieces(TEXT, settings(algorithm))
    with pytest.raises(TextError):
        learn_pieces(TEXT, settings(algorithm, 5000))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_vocabulary_larger_than_the_text_allows_is_refused_with_the_largest_size(
    algorithm: Literal["bpe", "unigram"],
) -> None:
    with pytest.raises(
        TextError, match=r"text\.size is 5000, but .* at most (\d+) tokens; set text\.size to \1 or less"
    ):
        learn_pieces(TEXT, settings(algorithm, 5000))


def test_the_largest_size_named_is_one_that_works() -> None:
    with pytest.raises(TextError) as error:
        learn_pieces(TEXT, settings("bpe", 5000))
    largest = int(str(error.value).split("set text.size to ")[1].split()[0])
    assert len(learn_pieces(TEXT, settings("bpe", largest)).vocabulary) == largest


def test_a_vocabulary_smaller_than_the_alphabet_is_refused_with_the_smallest_size() -> None:
    with pytest.raises(TextError, match=r"text\.size is 10, but .* alone are (\d+); set text\.size to \1 or more"):
        learn_pieces(TEXT, settings("bpe", 10))


def test_an_empty_text_gives_no_vocabulary() -> None:
    with pytest.raises(TextError, match="there is no text to learn a vocabulary from"):
        learn_pieces(["", ""], settings("bpe"))


@pytest.mark.parametrize("error", [CorpusError("line 7 is not UTF-8"), KeyboardInterrupt()])
def test_what_ends_the_reading_of_the_text_is_passed_on(error: BaseException) -> None:
    def texts() -> Iterator[str]:
        yield TEXT[0]
        raise error

    with pytest.raises(type(error)) as found:
        learn_pieces(texts(), settings("bpe"))
    assert found.value is error


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_names_of_special_pieces_in_text_are_text(algorithm: Literal["bpe", "unigram"]) -> None:
    tokenizer = learn_pieces([*TEXT, "the tag </s> and <pad> and <unk> and <s>"], settings(algorithm, 40))
    ids = tokenizer.encode("</s> <s> <pad> <unk>")
    assert min(ids) > UNK
    assert "".join(tokenizer.surfaces([tokenizer.vocabulary.piece(index) for index in ids])) == " </s> <s> <pad> <unk>"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_unknown_characters_are_one_unknown_piece(algorithm: Literal["bpe", "unigram"]) -> None:
    tokenizer = learn_pieces(TEXT, settings(algorithm))
    assert tokenizer.encode("世界").count(UNK) == 1
    assert tokenizer.split("the 世界")[-1] == "世界"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_copy_sent_to_another_process_is_equal(algorithm: Literal["bpe", "unigram"]) -> None:
    tokenizer = learn_pieces(TEXT, settings(algorithm))
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode(TEXT[0]) == tokenizer.encode(TEXT[0])
    assert copy.sample(TEXT[0], random.Random(1), 0.5) == tokenizer.sample(TEXT[0], random.Random(1), 0.5)


@pytest.mark.parametrize("model", [b"", b"no model"])
def test_other_bytes_are_no_model(model: bytes) -> None:
    with pytest.raises(TextError, match="this is not a SentencePiece model"):
        SentencePiece(model, "bpe")


def test_a_model_without_the_special_pieces_is_refused() -> None:
    import io

    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=model, vocab_size=34, minloglevel=2)
    with pytest.raises(TextError, match="the SentencePiece model starts with the tokens"):
        SentencePiece(model.getvalue(), "unigram")


def test_signals_end_the_process_while_a_vocabulary_is_learned_and_are_handled_as_before_then() -> None:
    def handler(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGTERM, handler)
    seen: list[object] = []

    def texts() -> Iterator[str]:
        seen.append(signal.getsignal(signal.SIGTERM))
        yield from TEXT

    try:
        learn_pieces(texts(), settings("bpe"))
        assert seen == [signal.SIG_DFL] and signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
