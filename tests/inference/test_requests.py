"""Sentences on their way to a model."""

from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.inference.requests import EncodedRequest, Request, RequestEncoder, given_previous
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.words import Words

WORDS = ["a", "b", "c"]


def test_previous_sentences_are_encoded_once() -> None:
    class Counting(Words):
        def encode(self, text: str) -> list[int]:
            seen.append(text)
            return super().encode(text)

    seen: list[str] = []
    codec = Codec(Counting(Vocabulary(["a", "b", "c"])))
    encoder = RequestEncoder((codec,), codec, {codec: None}, None, previous=2)
    requests = [Request("c", 1, ("a", "b")), Request("c", 2, ("b", "a")), Request("c", 3, ("b",))]
    encoded = encoder.encode_all(requests)
    assert sorted(seen) == ["a", "b", "c", "c", "c"]
    assert [one.previous for one in encoded] == [([4], [5]), ([5], [4]), (None, [5])]


def test_each_model_reads_the_source_by_its_own_codec() -> None:
    one, other = (Codec(Words(Vocabulary(words))) for words in (WORDS, WORDS[::-1]))
    encoder = RequestEncoder((one, other, one), one, {one: None, other: None}, None, previous=0)
    (encoded,) = encoder.encode_all([Request("a b", target="c")])
    assert encoded.sources == ([4, 5], [6, 5], [4, 5])
    assert (encoded.target, encoded.previous) == ([6], ())


def test_the_widest_sentence_says_how_many_columns_a_request_takes() -> None:
    request = Request("a")
    assert EncodedRequest(request, ([4],)).width == 2
    assert EncodedRequest(request, ([4],), (None, [4, 5, 6])).width == 4
    assert EncodedRequest(request, ([4],), target=[4, 5]).width == 3


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (Request("a a a", 7), "source sentence 7"),
        (Request("a", 7, target="a a a a"), "target sentence 7"),
        (Request("a", 7, ("a", "a a a")), "previous sentence 2"),
    ],
)
def test_what_is_too_long_is_named(request_: Request, named: str) -> None:
    codec = Codec(Words(Vocabulary(WORDS)))
    encoder = RequestEncoder((codec,), codec, {codec: 3}, 4, previous=2)
    with pytest.raises(InputError, match=named):
        encoder.encode_all([request_])


def test_words_that_a_translation_must_begin_with_are_given_whole_or_not_at_all() -> None:
    codec = Codec(Words(Vocabulary(WORDS)))
    encoder = RequestEncoder((codec,), codec, {codec: None}, None, previous=0)
    found = encoder.encode_all([Request("a", prefix="c b"), Request("a", prefix="c other"), Request("a")])
    assert [one.prefix for one in found] == [(6, 5), (), ()]


@pytest.mark.parametrize(
    ("previous", "reads", "named"),
    [
        ([[], ["a"]], 0, "`previous` sentences are for document models.*leave them out"),
        (["a", "b"], 0, "are for document models"),
        ([["a"]], 1, "there are 1 lists for 2 sentences"),
        (["a b", []], 1, r"write \['a b'\]"),
        ([[], ["a", 3]], 1, "sentence 2: previous sentence 2 is 3, which is not text"),
        ([None, []], 1, "None is not a list of texts"),
    ],
)
def test_previous_sentences_that_nobody_would_read_rightly_are_refused(previous: Any, reads: int, named: str) -> None:
    with pytest.raises(InputError, match=named):
        given_previous(previous, 2, reads=reads)


def test_previous_sentences_may_be_lists_or_made_one_by_one() -> None:
    assert given_previous((iter(one) for one in (["a"], [])), 2, reads=1) == [["a"], []]
    assert given_previous([[], ()], 2, reads=0) == [[], []]
