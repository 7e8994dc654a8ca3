"""What a memory has is not translated again, and what it has not is kept in it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.documents.memories import Memory
from dragoman.errors import InputError
from dragoman.inference.attention_map import HeadSelection
from dragoman.inference.translation import TermCounts, Translation, UsedTerm
from dragoman.jobs.recalling import RecallingTranslator
from dragoman.text.glossary import Entry, Glossary


class Shouter:
    """Translates into capitals, and remembers what it was asked."""

    previous = 0
    too_long = ""
    view = HeadSelection()

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def translate(self, sentences: list[str], **options: Any) -> list[Translation]:
        self.asked.append(list(sentences))
        return [Translation(one.upper(), -1.0, -2.0, reading=options["attention"] and "read") for one in sentences]

    def complete(self, sentences: list[str], prefixes: list[str], **options: Any) -> list[Translation]:
        self.completed = sentences, prefixes
        found = self.translate(sentences, **options)
        return [replace(one, text=f"{prefix} {one.text}") for one, prefix in zip(found, prefixes, strict=True)]

    def attention_maps(self, sources: list[str], targets: list[str], **_options: Any) -> list[Any]:
        if self.too_long in sources:
            raise InputError("too long")
        return [word_by_word(*pair) for pair in zip(sources, targets, strict=True)]


def word_by_word(source: str, target: str) -> Any:
    """Return the attention of a model that looks at each word once, in their order."""
    weights = torch.eye(max(len(source.split()), len(target.split())))[: len(target.split()), : len(source.split())]
    return SimpleNamespace(pair=(source, target), by_words=lambda shift: weights[None, None])


def recalling(
    *, keeps: bool = True, offers: bool = False, near: float | None = None
) -> tuple[RecallingTranslator, Shouter, Memory]:
    """Return a translator that remembers one sentence."""
    memory, shouter = Memory(":memory:", ("en", "vi"), keeps=keeps), Shouter()
    memory.keep([("red house", "nhà đỏ")], confirmed=True)
    return RecallingTranslator(shouter, memory, offers=offers, near=near), shouter, memory


def test_known_sentences_are_not_translated_and_new_ones_are_kept():
    translator, shouter, memory = recalling()
    found = translator.translate(["red  house", "dog", ""])
    assert [one.text for one in found] == ["nhà đỏ", "DOG", ""]
    assert [one.memory is not None and one.memory.is_exact for one in found] == [True, False, False]
    assert shouter.asked == [["", "dog", ""]]
    assert memory.exact("dog") == "DOG" and len(memory) == 2
    assert str(translator) == "1 of 2 sentences were in the translation memory."
    assert [one.text for one in translator.translate(["dog", "red house"])] == ["DOG", "nhà đỏ"]
    assert len(shouter.asked) == 1
    assert translator.previous == 0


def test_translations_by_an_earlier_model_are_counted():
    translator, shouter, memory = recalling()
    assert [one.text for one in translator.translate(["dog", "dog"])] == ["DOG", "DOG"]
    again = RecallingTranslator(shouter, memory)
    again.translate(["dog", "cat"])
    again.translate(["red house", "dog"])
    assert str(again) == (
        "3 of 4 sentences were in the translation memory. Of these, as a model translated them before: 2."
    )


def test_what_a_model_translated_before_a_term_was_decided_is_translated_again():
    translator, shouter, memory = recalling()
    translator.translate(["dog", "cat"])
    glossary = Glossary((Entry.of("dog", ["chó"]), Entry.of("cat", ["CAT", "mèo"]), Entry.of("house", ["toà"])))
    again = RecallingTranslator(shouter, memory, glossary=glossary)
    shouter.translate = lambda sentences, **_: [Translation(one and "chó", -1.0, -2.0) for one in sentences]
    found = again.translate(["dog", "cat", "red house"])
    assert [one.text for one in found] == ["chó", "CAT", "nhà đỏ"]
    assert [one.terms for one in found[1:]] == [(UsedTerm("cat", "CAT", "met"),), (UsedTerm("house", "toà", "unmet"),)]
    assert TermCounts.of(found) == TermCounts(matched=2, met=1, unmet=1)  # nothing was searched again
    assert again.hits == 2 and memory.exact("dog") == "chó" and memory.exact("red house") == "nhà đỏ"


def test_a_memory_that_is_only_read_stays_as_it_is():
    translator, _, memory = recalling(keeps=False)
    translator.translate(["dog"])
    assert len(memory) == 1


def test_similar_sentences_are_those_from_before():
    translator, _, _ = recalling(offers=True)
    exact, near, other = translator.translate(["red house", "red houses", "dog"])
    assert exact.memory.near == () and other.memory.near == ()
    assert [one.translation for one in near.memory.near] == ["nhà đỏ"]
    assert list(translator.near) == ["red houses"]


def test_attention_is_read_for_known_translations_too():
    translator, _, _ = recalling()
    known, new = translator.translate(["red house", "dog"], attention=True)
    assert known.reading.pair == ("red house", "nhà đỏ") and new.reading == "read"


def test_a_known_sentence_that_is_too_long_for_the_model_keeps_no_other_from_being_read():
    translator, shouter, _ = recalling()
    shouter.too_long = "red house"
    translator.translate(["a dog", "a cat"], attention=True)
    found = translator.translate(["a dog", "red house", "a cat"], attention=True)
    assert [one.reading and one.reading.pair for one in found] == [("a dog", "A DOG"), None, ("a cat", "A CAT")]


@pytest.mark.parametrize("offers", [False, True])
def test_a_sentence_begins_as_a_similar_one_was_translated(offers: bool):
    translator, shouter, memory = recalling(near=0.8, offers=offers)
    memory.keep([("two old cats sleep here", "hai già mèo ngủ đây")], confirmed=True)
    asked = ["two old cats sleep there", "", "red house", "a dog"]
    found = translator.translate(asked, attention=True, previous=None, first=7)
    assert [one.text for one in found] == ["hai già mèo TWO OLD CATS SLEEP THERE", "", "nhà đỏ", "A DOG"]
    assert [one.memory and one.memory.prefix for one in found] == ["hai già mèo", None, "", ""]
    assert shouter.completed == ([asked[0], "", "", ""], ["hai già mèo", "", "", ""])
    assert shouter.asked[0] == ["", "", "", "a dog"]
    assert translator.prefixes == ({asked[0]: "hai già mèo"} if offers else {})
    assert str(translator) == (
        "1 of 3 sentences were in the translation memory. Translations that begin with words from it: 1."
    )
    assert memory.exact(asked[0]) == found[0].text


@pytest.mark.parametrize(
    ("sentence", "least"), [("two old cats sleep there", 0.99), ("see, two old cats sleep here", 0.8)]
)
def test_what_is_less_similar_or_begins_otherwise_is_translated_as_always(sentence: str, least: float):
    translator, shouter, memory = recalling(near=least)
    memory.keep([("two old cats sleep here", "hai già mèo ngủ đây")], confirmed=True)
    assert [one.text for one in translator.translate([sentence])] == [sentence.upper()]
    assert translator.begun == 0 and not hasattr(shouter, "completed")


def test_a_prefix_that_was_not_written_is_not_reported():
    translator, shouter, memory = recalling(near=0.75)
    memory.keep([("a red house", "một nhà đỏ")], confirmed=True)
    shouter.complete = lambda sentences, _prefixes, **options: shouter.translate(sentences, **options)
    (found,) = translator.translate(["a red hose"])
    assert found.text == "A RED HOSE" and found.memory.prefix == "" and translator.begun == 0


def test_a_remembered_sentence_that_is_too_long_for_the_model_gives_no_prefix():
    translator, shouter, memory = recalling(near=0.75)
    memory.keep([("a red house", "một nhà đỏ")], confirmed=True)
    memory.keep([("two old cats sleep here", "hai già mèo ngủ đây")], confirmed=True)
    shouter.too_long = "a red house"
    long, other = translator.translate(["a red hose", "two old cats sleep there"])
    assert long.text == "A RED HOSE" and other.text.startswith("hai già mèo ")
