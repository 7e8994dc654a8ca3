"""Random segmentations of many texts at once."""

import random
from itertools import pairwise

import pytest

from dragoman.data import sampling
from dragoman.data.sampling import merges_of, sample_all, segment_words
from dragoman.native.compilation import SEGMENTATION, available
from dragoman.text import Codec, SentencePieceSettings
from dragoman.text.pieces import learn_pieces
from dragoman.text.sampling import BpeDropout
from dragoman.text.settings import WordsSettings
from dragoman.text.vocabulary import UNK, Vocabulary
from dragoman.text.words import learn_words

TEXTS = ["the cat sat on the mat", "", "a dog  ate\tmy homework", "con mèo ngồi", "x世y 世界 🐈", "THE dogs"] * 3


@pytest.fixture(scope="module", params=["bpe", "unigram", "bpe, from right to left", "bpe, lower-cased", "words"])
def codec(request: pytest.FixtureRequest) -> Codec:
    texts = ["the cat sat on the mat", "a dog ate my homework", "con mèo ngồi trên chiếc thảm"] * 5
    if request.param == "words":
        return Codec(learn_words(texts, WordsSettings(size=20)))
    kind, _, how = request.param.partition(", ")
    pieces = learn_pieces(texts, SentencePieceSettings(algorithm=kind, size=45 if kind == "bpe" else 33))
    return Codec(pieces, lower=how == "lower-cased", right_to_left=how == "from right to left")


@pytest.mark.parametrize("rate", [0.1, 0.7])
@pytest.mark.parametrize("native", [True, False])
def test_texts_are_segmented_as_one_by_one(
    codec: Codec, rate: float, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(sampling, "available", lambda part: False)
    elif not available(SEGMENTATION):
        pytest.skip("no C++ compiler here")
    single, together = random.Random(3), random.Random(3)
    expected = [codec.sample(text, single, rate) for text in TEXTS]
    found = sample_all(codec, TEXTS, rng=together, rate=rate)
    assert [ids.tolist() for ids in found] == expected
    assert {ids.dtype.name for ids in found} == {"int32"}
    assert together.getstate() == single.getstate()


def test_no_texts_are_none(codec: Codec) -> None:
    assert sample_all(codec, [], rng=random.Random(1), rate=0.5) == []
    assert [ids.tolist() for ids in sample_all(codec, ["", ""], rng=random.Random(1), rate=0.5)] == [[], []]


@pytest.mark.skipif(not available(SEGMENTATION), reason="no C++ compiler here")
def test_words_of_unknown_signs_stay_words_of_their_own() -> None:
    dropout, texts = BpeDropout(Vocabulary(["b"])), [["aa", "a"], ["a", "ab"]]  # which does not know the space either
    found = segment_words(dropout, texts, rng=random.Random(1), rate=0.5)
    expected = [[piece for word in words for piece in dropout(f"▁{word}", random.Random(1), 0.5)] for words in texts]
    assert [ids.tolist() for ids in found] == expected == [[UNK, UNK], [UNK, UNK, 4]]


def test_merges_are_all_that_give_pieces() -> None:
    pieces = ["ab", "bc", "abc", "cab", "aa", "abcab", "bx", "a", "b", "c"]
    merges = merges_of(BpeDropout(Vocabulary(pieces)))
    number = {piece: 4 + at for at, piece in enumerate(pieces)} | {"x": 4 + len(pieces)}
    name = {symbol: piece for piece, symbol in number.items()}
    found = [
        (name[left], name[int(right)], name[int(merged)])
        for left, (first, last) in enumerate(pairwise(merges.begins.tolist()))
        for right, merged in zip(merges.rights[first:last], merges.merged[first:last], strict=True)
    ]
    splits = [(piece[:at], piece[at:], piece) for piece in pieces for at in range(1, len(piece))]
    assert sorted(found) == sorted(split for split in splits if split[0] in number and split[1] in number)
    assert {piece: int(merges.characters[ord(piece)]) for piece in "abcxz"} == {
        **{p: number[p] for p in "abcx"},
        "z": -1,
    }
    assert merges.ids.tolist() == [*[UNK] * 4, *range(4, 4 + len(pieces)), UNK, UNK]
