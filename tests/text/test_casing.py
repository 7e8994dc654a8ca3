"""Capitals at the starts of sentences as tokens: nothing is lost, one word has one token, names keep theirs."""

import pickle
import random

import pytest

from dragoman.data.sampling import sample_all
from dragoman.errors import SettingsError
from dragoman.settings import parse
from dragoman.text.casing import CAPITAL, lowered, marked, marked_by_counts, restored
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.settings import SentencePieceSettings

SENTENCES = [
    "The cat saw Tom. It ran away!",
    "Tom saw the cat, and the cat saw Tom.",
    '"Come here," she said. "The dog likes Tom."',
    "Tom likes the dog. Come and see it.",
    "And what did it see? It did come to see Tom.",
    "Ông ấy thấy con mèo. Con chó thích ông ấy.",
    '" What ? " asked the dog . " Come ! "',
]
ODD = [
    "",
    "THE CAT",
    "iPhone",
    "İstanbul. ǅ. ß. ŉ",
    "... Come. ... — The",
    "<b>Come</b> (The) [It",
    "A. B. C. The",
    "3.5 The. 4 Come",
    "Come.The",
    "« Come » The",
    "\U0001f600 The",
    "<unk> The <unk>. The",
    ". " * 2000 + "The",
]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def codec(request: pytest.FixtureRequest) -> Codec:
    """Learn a vocabulary with inline casing."""
    size = 110 if request.param == "bpe" else 58
    return learn_codec(SentencePieceSettings(algorithm=request.param, size=size, inline_casing=True), SENTENCES * 20)


def test_no_capital_is_lost(codec: Codec) -> None:
    for text in [*SENTENCES, *ODD]:
        assert codec.join(codec.split(text)) == codec.normalize(text), text
    for text in SENTENCES:
        assert codec.decode(codec.encode(text)) == text
        assert codec.directed(True).decode(codec.directed(True).encode(text)) == text


def test_a_word_is_one_word_wherever_it_stands_and_a_name_keeps_its_capital(codec: Codec) -> None:
    first, later = codec.split("The cat"), codec.split("see the cat")
    assert "".join(first).startswith(f"▁{CAPITAL}▁the") and first[-2:] == later[-2:]
    assert CAPITAL not in "".join(codec.split("Tom saw")) and CAPITAL not in "".join(codec.split("see The cat"))


def test_the_token_belongs_to_the_word_that_has_the_capital(codec: Codec) -> None:
    text = "See Tom. The cat"
    owners = codec.owners(text)
    assert set(owners) == {0, 1, 2, 3} and owners == sorted(owners)
    assert (
        "".join(piece for piece, owner in zip(codec.split(text), owners, strict=True) if owner == 2)
        == f"▁{CAPITAL}▁the"
    )
    assert codec.piece_words(codec.encode(text)) == owners


def test_it_is_saved_and_sampled(codec: Codec) -> None:
    table = codec.to_json()
    assert '"inline_casing": true' in table and pickle.loads(pickle.dumps(codec)) == codec
    plain = learn_codec(SentencePieceSettings(size=110), SENTENCES * 20)
    assert '"format": 3' in table and '"format": 1' in plain.to_json()  # earlier releases would not mark words
    assert "inline_casing" not in plain.to_json() and plain.split("The cat") != codec.split("The cat")
    rate = 0.5 if '"bpe"' in table else 2.0
    found = sample_all(codec, SENTENCES, rng=random.Random(1), rate=rate)
    rng = random.Random(1)
    assert [ids.tolist() for ids in found] == [codec.sample(text, rng, rate) for text in SENTENCES]
    assert [codec.decode(ids.tolist()) for ids in found] == SENTENCES
    assert any(ids.tolist() != codec.encode(text) for ids, text in zip(found, SENTENCES, strict=True))


def test_only_words_that_begin_a_sentence_are_marked() -> None:
    def marks(text: str) -> str:
        return marked(text, lambda word: True).replace(CAPITAL, "^")

    assert marks("Come. Come") == "^ come. ^ come" and marks("a Come, Come") == "a Come, Come"
    assert marks('" Come ( Come') == '" ^ come ( Come' and marks('x ." Come') == 'x ." ^ come'
    assert marks("USA") == "USA" and marks("come") == "come" and marks("I") == "^ i"
    assert lowered("ǅ") is None and lowered("İ") is None and lowered("") is None


def test_words_that_have_capitals_inside_sentences_keep_them() -> None:
    texts = ["a Tom Tom", "Tom and the", "The Tom", "New words"]
    assert [text.replace(CAPITAL, "^") for text in marked_by_counts(texts)] == [
        "a Tom Tom",
        "Tom and the",
        "^ the Tom",
        "^ new words",
        "N T",
    ]


def test_a_token_without_a_word_after_it_is_no_text() -> None:
    mark = f"▁{CAPITAL}"
    assert "".join(restored(["▁a", mark], "▁")).strip() == "a"
    assert restored([mark, "<unk>", "▁a"], "▁") == [" ", "<unk>", " a"]
    assert restored([mark, "▁12", "▁a"], "▁") == [" ", "12", " A"]
    assert restored(["▁", CAPITAL, "▁a"], "▁") == [" ", "", "A"]


def test_lower_case_leaves_nothing_to_mark() -> None:
    with pytest.raises(SettingsError, match=r"`text.lower` leaves no capitals"):
        parse(SentencePieceSettings, {"lower": True, "inline_casing": True})
