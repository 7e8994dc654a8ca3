"""Terms of training pairs: words and phrases that links hold together, drawn at random."""

from random import Random

import numpy as np
import pytest

from dragoman.data.annotations import LONGEST, Phrase, annotations, core, drawn, phrases
from dragoman.data.links import WordLinks
from dragoman.text import Codec, learn_codecs
from dragoman.text.links import parse_links
from dragoman.text.settings import CharactersSettings
from dragoman.text.tags import MARKS


def links(text: str) -> WordLinks:
    """Return word alignments."""
    return np.array(sorted(parse_links(text).possible), np.int32).reshape(-1, 2)


def known(text: str) -> set[tuple[int, int, int, int]]:
    """Return where the phrases of links begin and end, source and target."""
    return {
        (one.source.start, one.source.stop, one.target.start, one.target.stop)
        for some in phrases(links(text)).values()
        for one in some
    }


def test_phrases_link_to_one_another_alone() -> None:
    assert known("0-0") == {(0, 1, 0, 1)}
    assert known("0-1 1-0") == {(0, 1, 1, 2), (1, 2, 0, 1), (0, 2, 0, 2)}
    assert known("0-0 0-1") == {(0, 1, 0, 2)}, "one word may become two that are neighbours"
    assert known("0-0 0-2 1-1") == {(1, 2, 1, 2), (0, 2, 0, 3)}, "but not two that are apart"
    assert known("0-0 1-0") == {(0, 2, 0, 1)}, "nor is half of what becomes a word a term"
    assert known("0-0 2-1") == {(0, 1, 0, 1), (2, 3, 1, 2), (0, 3, 0, 2)}
    assert known("0-0 2-3") == {(0, 1, 0, 1), (2, 3, 3, 4)}, "unlinked words of the target are in no translation"
    assert known("") == set()


def test_phrases_are_short() -> None:
    found = known(" ".join(f"{n}-{n}" for n in range(9)))
    assert {stop - start for start, stop, *_ in found} == set(range(1, LONGEST + 1))


def test_drawn_phrases_share_no_word_and_are_not_always_the_same() -> None:
    some = phrases(links(" ".join(f"{n}-{n}" for n in range(9))))
    seen: set[tuple[Phrase, ...]] = set()
    for seed in range(30):
        found = drawn(some, Random(seed))
        words = [word for one in found for word in one.source]
        assert found and len(words) == len(set(words))
        assert drawn(some, Random(seed)) == found
        seen.add(tuple(found))
    assert len(seen) > 20
    assert drawn({}, Random(1)) == []


@pytest.mark.parametrize(
    ("words", "bare", "expected"),
    [
        (["«chat",], False, "chat"),
        (["chat", "noir,"], False, "chat noir"),
        (["chat,", "noir"], False, None),
        (["l'eau"], False, "l'eau"),
        (["l'eau", "chaude."], True, "eau chaude"),
        (["d’école"], True, "école"),
        (["aujourd'hui"], True, "aujourd'hui"),
        (["I'm"], True, "I'm"),
        (["-"], True, None),
        (["猫"], True, "猫"),
        (["猫" * 9], True, None),
    ],
)  # fmt: skip
def test_a_term_has_no_punctuation_around_it(words: list[str], bare: bool, expected: str | None) -> None:
    assert core(words, bare=bare) == expected


@pytest.fixture(scope="module")
def codecs() -> tuple[Codec, Codec]:
    """Return codecs of characters."""
    pairs = [("The cats, NATO", "Les chats, l'OTAN")]
    return learn_codecs(CharactersSettings(joint=True), lambda: pairs, MARKS)


def of_one(codecs: tuple[Codec, Codec], source: str, target: str, linked: str) -> list[tuple[str, str]]:
    """Return the annotations of a pair as text: the term without spaces, and the translation."""
    found = annotations(codecs, (source, target), links(linked), Random(1))
    return [("".join(source.split())[one.start : one.end], codecs[1].decode(one.wished)) for one in found]


def test_annotations_are_words_of_the_target(codecs: tuple[Codec, Codec]) -> None:
    assert of_one(codecs, "The cats, NATO", "Les chats, l'OTAN", "1-1") == [("cats", "chats")]
    assert of_one(codecs, "The cats, NATO", "Les chats, l'OTAN", "2-2") == [("NATO", "OTAN")]
    assert of_one(codecs, "cats cats", "Les chats", "1-1") == [("cats", "chats")]
    assert of_one(codecs, "The , cats", "Les , chats", "1-1") == []
    assert of_one(codecs, "The cats", "Les 猫", "1-1") == []


def test_a_capital_at_the_start_is_that_of_the_sentence(codecs: tuple[Codec, Codec]) -> None:
    assert of_one(codecs, "The", "Les", "0-0") == [("The", "les")]
    assert of_one(codecs, "NATO", "OTAN", "0-0") == [("NATO", "OTAN")]
    assert of_one(codecs, "cats The", "chats Les", "1-1") == [("The", "Les")]
