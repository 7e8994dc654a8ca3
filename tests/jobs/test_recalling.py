"""What a memory has is not translated again, and what it has not is kept in it."""

from types import SimpleNamespace
from typing import Any

from dragoman.documents.memories import Memory
from dragoman.errors import InputError
from dragoman.inference.translation import Translation
from dragoman.jobs.recalling import RecallingTranslator


class Shouter:
    """Translates into capitals, and remembers what it was asked."""

    previous = 0
    too_long = False

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def translate(self, sentences: list[str], **options: Any) -> list[Translation]:
        self.asked.append(list(sentences))
        return [Translation(one.upper(), -1.0, -2.0, reading=options["attention"] and "read") for one in sentences]

    def attention_maps(self, sources: list[str], targets: list[str], **_options: Any) -> list[Any]:
        if self.too_long:
            raise InputError("too long")
        return [SimpleNamespace(pair=pair) for pair in zip(sources, targets, strict=True)]


def recalling(*, keeps: bool = True, offers: bool = False) -> tuple[RecallingTranslator, Shouter, Memory]:
    """Return a translator that remembers one sentence."""
    memory, shouter = Memory(":memory:", ("en", "vi"), keeps=keeps), Shouter()
    memory.keep([("red house", "nhà đỏ")], confirmed=True)
    return RecallingTranslator(shouter, memory, offers=offers), shouter, memory


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
    translator, shouter, _ = recalling()
    known, new = translator.translate(["red house", "dog"], attention=True)
    assert known.reading.pair == ("red house", "nhà đỏ") and new.reading == "read"
    shouter.too_long = True
    assert translator.translate(["red house"], attention=True)[0].reading is None
