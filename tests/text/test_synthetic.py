"""The tag of synthetic sources: no text becomes it."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text import Codec, TextSettings, learn_codecs
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, WordsSettings
from dragoman.text.tags import SYNTHETIC

PAIRS = [
    (f"the cat saw <synthetic source> <s> {word}", f"a dog heard {word} things, not <that>")
    for word in ("syn", "the", "tic", "synthetic")
] * 3
KINDS: list[TextSettings] = [
    SentencePieceSettings(size=45),
    SentencePieceSettings(size=24, algorithm="unigram", joint=False),
    WordsSettings(minimum_count=1),
    CharactersSettings(joint=True),
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda settings: f"{settings.kind}-{settings.joint}")
def codecs(request: pytest.FixtureRequest) -> tuple[Codec, Codec]:
    source, target = learn_codecs(request.param, lambda: PAIRS, [SYNTHETIC])
    assert (source is target) == request.param.joint
    return source, target


def test_a_tag_is_reserved_in_the_source_alone_unless_one_vocabulary_serves_both(codecs: tuple[Codec, Codec]) -> None:
    source, target = codecs
    assert source.tags([SYNTHETIC]) == list(source.special.tags) and source.pieces(source.special.tags) == [SYNTHETIC]
    assert target.special.tags == (source.special.tags if target is source else ())


@given(text=st.lists(st.sampled_from(["<synthetic", SYNTHETIC, "source>", "<s>", " ", "the"])).map("".join))
def test_no_text_becomes_a_tag(codecs: tuple[Codec, Codec], text: str) -> None:
    (tag,) = codecs[0].special.tags
    assert tag not in codecs[0].encode(text)
    assert tag not in codecs[0].sample(text, random.Random(1), 0.3)


def test_a_tag_is_no_text_and_belongs_to_no_word(codecs: tuple[Codec, Codec]) -> None:
    (tag,) = codecs[0].special.tags
    ids = codecs[0].encode("the cat")
    assert codecs[0].decode([tag, *ids]) == codecs[0].decode(ids)
    assert codecs[0].piece_words([tag, *ids]) == [-1, *codecs[0].piece_words(ids)]


def test_tags_are_saved_with_the_vocabulary(codecs: tuple[Codec, Codec], tmp_path: Path) -> None:
    codecs[0].save(tmp_path, "source")
    assert Codec.load(tmp_path, "source").special.tags == codecs[0].special.tags


def test_a_tag_counts_for_the_size_of_a_vocabulary() -> None:
    source, _ = learn_codecs(WordsSettings(size=6), lambda: PAIRS, [SYNTHETIC])
    assert len(source) == 6 and source.pieces([4])[0] == SYNTHETIC
