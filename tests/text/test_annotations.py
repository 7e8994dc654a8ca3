"""Translations in sources: in the place of a term, however that is cut."""

import random

import pytest

from dragoman.text import Codec, learn_codecs
from dragoman.text.annotations import Annotation, annotated, annotation
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings
from dragoman.text.tags import MARKS, tag_pieces

PAIRS = [("The old cats, she said, are in the house.", "Les vieux chats, dit-elle, sont dans la maison.")] * 20
KINDS: list[TextSettings] = [
    SentencePieceSettings(size=60),
    SentencePieceSettings(algorithm="unigram", size=32),
    SentencePieceSettings(size=60, lower=True),
    WordsSettings(minimum_count=1, joint=True),
    CharactersSettings(joint=True),
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda one: f"{one.kind}-{one.lower}")
def codec(request: pytest.FixtureRequest) -> Codec:
    """Return a codec with marks and tags of languages."""
    return learn_codecs(request.param, lambda: PAIRS, [*tag_pieces(["fr", "en"]), *MARKS])[0]


def wished(codec: Codec, text: str, term: str, translation: str) -> Annotation:
    """Return the translation of a term that is once in a text."""
    start = text.index(term)
    found = annotation(codec, text, (start, start + len(term)), translation=translation)
    assert found is not None
    return found


def parts(codec: Codec, ids: list[int]) -> list[str]:
    """Spell what is between marks."""
    begin, end = codec.marks
    found: list[list[int]] = [[]]
    for index in ids:
        if index in (begin, end):
            found.append([])
        else:
            found[-1].append(index)
    return [codec.decode(one) for one in found]


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_a_translation_takes_the_place_of_its_term(codec: Codec, rate: float) -> None:
    text = "The  old cats, she said."
    ids = [*codec.tag("fr"), *codec.sample(text, random.Random(3), rate)]
    asked = [wished(codec, text, "cats", "chats"), wished(codec, text, "old", "vieux")]
    found = annotated(codec, ids, text, annotations=asked)
    low = (lambda one: one.lower()) if codec.lower else str
    assert parts(codec, found) == list(map(low, ["The", "vieux", "", "chats", ", she said."]))
    assert found[0] == ids[0] and codec.frame_of(found).before == (ids[0],)
    assert [codec.pieces([index])[0] for index in found if index in codec.marks] == [*MARKS, *MARKS]


def test_a_source_without_terms_stays_as_it_is(codec: Codec) -> None:
    ids = codec.encode("The house.")
    assert annotated(codec, ids, "The house.", annotations=[]) == ids
    assert annotated(codec, [], "", annotations=[]) == []


def test_a_source_may_begin_with_a_translation(codec: Codec) -> None:
    found = annotated(codec, codec.encode("cats"), "cats", annotations=[wished(codec, "cats", "cats", "chats")])
    begin, end = codec.marks
    assert [one for one in found if one not in codec.encode(" ")] == [begin, *codec.encode("chats"), end]
    assert codec.leading_tags(found) == [] and codec.leading_tags([*codec.tag("fr"), *found]) == codec.tag("fr")


def test_a_term_within_a_token_is_followed_by_its_translation() -> None:
    codec = learn_codecs(WordsSettings(minimum_count=1, joint=True), lambda: PAIRS, MARKS)[0]
    asked = [wished(codec, "cats", "ca", "chats"), wished(codec, "cats", "ts", "maison")]
    found = annotated(codec, codec.encode("cats"), "cats", annotations=asked)
    assert [one for one in parts(codec, found) if one] == ["cats", "chats", "maison"]


def test_what_cannot_be_spelled_is_no_annotation(codec: Codec) -> None:
    assert annotation(codec, "The cats", (4, 8), translation="猫") is None
    assert annotation(codec, "The cats", (4, 8), translation=" ") is None


def test_unknown_signs_do_not_move_a_translation(codec: Codec) -> None:
    text = "猫 cats 猫"
    found = annotated(codec, codec.encode(text), text, annotations=[wished(codec, text, "cats", "chats")])
    assert parts(codec, found) == ["<unk>", "chats", "<unk>"]


def test_sampled_ids_with_unknown_ones_stay_as_they_are() -> None:
    codec = learn_codecs(KINDS[0], lambda: PAIRS, MARKS)[0]
    text = "猫猫 cats"
    ids = codec.sample(text, random.Random(1), 0.9)
    assert ids != codec.encode(text)
    assert annotated(codec, ids, text, annotations=[wished(codec, text, "cats", "chats")]) == ids


def test_a_vocabulary_without_marks_has_no_annotations() -> None:
    codec = learn_codecs(KINDS[0], lambda: PAIRS)[0]
    assert codec.marks == ()
