"""Sentences checked by hand, in the table beside this file: pattern, choices, English, Vietnamese, French."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dragoman.data.phrasebook import patterns, split_words
from dragoman.data.phrasebook.derivation import Example, example

TABLE = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8")
ROWS = [row.split("\t") for row in TABLE.rstrip("\n").split("\n")[1:]]


class Wishing(Random):
    """A source of choices that takes what is wished for where it is offered, and else the first option."""

    def __init__(self, wishes: Sequence[str]) -> None:
        super().__init__(0)
        self.wishes = list(wishes)

    def choice(self, seq: Sequence[Any]) -> Any:
        labels = [label(option) for option in seq]
        for wish in self.wishes:
            if wish in labels:
                self.wishes.remove(wish)
                return seq[labels.index(wish)]
        return seq[0]


def label(option: Any) -> str:
    """Name an option: the word itself, the English of an entry, "-" for none; "+" marks a plural determiner."""
    name = getattr(option, "english", option) or "-"
    return f"{name}+" if getattr(option, "number", "") == "plural" else name


def said(pattern: str, choices: str, language: str) -> Example:
    wishes = Wishing(choices.split(","))
    found = example(patterns()[pattern](wishes), language)
    assert not wishes.wishes
    return found


def test_the_table_is_large_and_holds_the_sentences_of_the_tutorial() -> None:
    tutorial = {"This is a book.", "I study at school.", "I love cats.", "The cat sits on the mat."}
    assert tutorial <= {row[2] for row in ROWS}
    assert len({row[2] for row in ROWS}) >= 80


@pytest.mark.parametrize(("pattern", "choices", "english", "vietnamese", "french"), ROWS, ids=[row[2] for row in ROWS])
def test_a_sentence_reads_as_a_native_writes_it(
    pattern: str, choices: str, english: str, vietnamese: str, french: str
) -> None:
    in_vietnamese, in_french = said(pattern, choices, "vi"), said(pattern, choices, "fr")
    assert (in_vietnamese.source, in_vietnamese.target) == (english, vietnamese)
    assert (in_french.source, in_french.target) == (english, french)


def linked(pattern: str, choices: str, language: str) -> set[tuple[str, str]]:
    """Return the pairs of words that are aligned."""
    found = said(pattern, choices, language)
    source, target = split_words(found.source), split_words(found.target)
    return {(source[left], target[right]) for left, right in found.links}


def test_both_words_of_a_french_negation_are_aligned_with_the_english_one() -> None:
    links = linked("does_not_like", "love,animal,cat,I", "fr")
    assert links == {("I", "Je"), ("don't", "n'"), ("don't", "pas"), ("love", "aime"), ("cats", "chats"), (".", ".")}


def test_a_classifier_is_aligned_with_its_noun() -> None:
    links = linked("sits", "pet,sit,cat,mat", "vi")
    expected = {("cat", "Con"), ("cat", "mèo"), ("sits", "ngồi"), ("on", "trên"), ("mat", "chiếc"), ("mat", "thảm")}
    assert links == {*expected, (".", ".")}


def test_a_contraction_is_aligned_with_preposition_and_article() -> None:
    links = linked("goes", "past,market,she", "fr")
    assert {("to", "au"), ("the", "au"), ("went", "est"), ("went", "allée"), ("market", "marché")} <= links


def test_what_changes_place_stays_aligned() -> None:
    assert {("black", "đen"), ("cat", "con"), ("have", "có")} <= linked("has", "have,pet,a,black,qualified,cat,I", "vi")
    assert {("him", "le"), ("knows", "connaît")} <= linked("knows", "know,she,he", "fr")
    assert {("yesterday", "Hôm"), ("yesterday", "qua")} <= linked("goes", "past,market,she", "vi")


def test_a_possessive_is_aligned_with_the_word_for_of() -> None:
    choices = "thing,owned,ring,name,Anna"
    assert {("Anna's", "của"), ("Anna's", "Anna"), ("ring", "chiếc")} <= linked("this_is", choices, "vi")
    assert {("Anna's", "d'"), ("Anna's", "Anna"), ("ring", "bague")} <= linked("this_is", choices, "fr")
