"""Tags of target languages: no text becomes one, and no tag becomes text."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.special_ids import SPECIAL_IDS
from dragoman.text import Codec, learn_codecs
from dragoman.text.codec import encode_within
from dragoman.text.frames import Between
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings
from dragoman.text.tags import language_of, tag_piece, tag_pieces

LANGUAGES = ("fr", "zh-Hans", "eng_Latn")
SPELLED = ["go <to fr> now", "<to fr>", "<2fr> <to zh-Hans>", "▁<to fr>", "<to\u00a0fr>"]
"""Texts that spell a tag; a vocabulary is learned from them too."""
PAIRS = [(text, text[::-1]) for text in SPELLED] * 20
EVERYTHING: list[TextSettings] = [
    SentencePieceSettings(size=60),
    SentencePieceSettings(algorithm="unigram", size=29),
    SentencePieceSettings(size=60, lower=True),
    WordsSettings(minimum_count=1, joint=True),
    CharactersSettings(joint=True),
]


@pytest.fixture(scope="module", params=EVERYTHING, ids=lambda one: f"{one.kind}-{one.lower}")
def codec(request: pytest.FixtureRequest) -> Codec:
    """Return a codec with tags, learned from texts that spell them."""
    return learn_codecs(request.param, lambda: PAIRS, tag_pieces(LANGUAGES))[0]


def test_each_language_has_a_token_of_its_own(codec: Codec) -> None:
    ids = [codec.tag(language) for language in LANGUAGES]
    assert [codec.pieces(one) for one in ids] == [["<to fr>"], ["<to zh-Hans>"], ["<to eng_Latn>"]]
    assert codec.special.tags == tuple(one for (one,) in ids)
    assert set(codec.special.unwritten) == {*codec.special.tags, codec.special.pad, codec.special.bos}
    assert codec.tag(None) == []
    with pytest.raises(TextError, match=r"no tag of `de`, only of fr, zh-Hans, eng_Latn; .*`data\.languages`"):
        codec.tag("de")


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("text", SPELLED)
def test_text_that_spells_a_tag_is_text(codec: Codec, text: str, rate: float) -> None:
    assert not set(codec.encode(text)) & set(codec.special.tags)
    for seed in range(20):
        ids = codec.sample(text, random.Random(seed), rate)
        assert not set(ids) & set(codec.special.tags)
        assert codec.decode(ids) == codec.normalize(text)


@given(text=st.lists(st.sampled_from(["<", ">", "to", " ", "fr", "<to fr>", "\u00a0", "<to", "fr>"])).map("".join))
def test_no_text_becomes_a_tag(codec: Codec, text: str) -> None:
    assert not set(codec.encode(text)) & set(codec.special.tags)
    assert not set(codec.sample(text, random.Random(len(text)), 0.5)) & set(codec.special.tags)


def test_a_tag_is_no_text_and_no_word(codec: Codec) -> None:
    (ids,) = encode_within(codec, ["go now"], None, languages=[Between(target="zh-Hans")])
    assert ids == [*codec.tag("zh-Hans"), *codec.encode("go now")]
    assert codec.leading_tags(ids) == codec.tag("zh-Hans") and codec.leading_tags(ids[1:]) == []
    assert codec.decode(ids) == "go now"
    assert codec.piece_words(ids)[0] == -1
    assert codec.piece_words(ids)[1:] == codec.piece_words(ids[1:])


def test_an_empty_sentence_stays_empty(codec: Codec) -> None:
    assert encode_within(codec, ["", " \u200b"], 1, languages=[Between(target="fr")] * 2) == [[], []]


def test_tags_are_saved_with_the_vocabulary(codec: Codec, tmp_path: Path) -> None:
    codec.save(tmp_path, "source")
    loaded = Codec.load(tmp_path, "source")
    assert (loaded, loaded.special, len(loaded)) == (codec, codec.special, len(codec))
    assert [loaded.tag(language) for language in LANGUAGES] == [codec.tag(language) for language in LANGUAGES]


@pytest.mark.parametrize("settings", EVERYTHING[:1] + EVERYTHING[3:])
def test_a_vocabulary_for_one_direction_has_none(settings: TextSettings) -> None:
    codec = learn_codecs(settings, lambda: PAIRS)[0]
    assert codec.special == SPECIAL_IDS
    with pytest.raises(TextError, match=r"no tag of `fr`, nor of any other language"):
        codec.tag("fr")


def test_only_the_source_has_tags() -> None:
    source, target = learn_codecs(WordsSettings(minimum_count=1), lambda: PAIRS, tag_pieces(LANGUAGES))
    assert len(source.special.tags) == 3 and target.special.tags == ()


@pytest.mark.parametrize("settings", [SentencePieceSettings(size=60), WordsSettings(minimum_count=1, size=9)])
def test_tags_are_part_of_the_size(settings: TextSettings) -> None:
    assert len(learn_codecs(settings, lambda: PAIRS, tag_pieces(LANGUAGES))[0]) == settings.size


def test_a_vocabulary_too_small_for_its_tags_is_refused() -> None:
    for settings in (WordsSettings(minimum_count=1, size=7), CharactersSettings(size=7)):
        with pytest.raises(TextError, match=r"text\.size is 7, but 7 tokens come before the first .*; set at least 8"):
            learn_codecs(settings, lambda: PAIRS, tag_pieces(LANGUAGES))


def test_names_and_languages_belong_together() -> None:
    assert [language_of(piece) for piece in tag_pieces(LANGUAGES)] == [*LANGUAGES]
    assert " " in tag_piece("fr"), "a tokeniser makes no token with a space"
    assert [language_of(text) for text in ("fr", "<to >", "<to f r>", "<unk+1>", " <to fr>")] == [None] * 5
