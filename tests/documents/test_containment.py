"""Words of a translation are inside the elements that most of their source words are in."""

import random

import pytest

from dragoman.documents.alignment import words_of
from dragoman.documents.containment import DEEPEST, Span, contained
from dragoman.documents.hypertext import HypertextDocument


def nested(chance: random.Random, start: int, end: int, spans: list[Span], parent: int | None = None) -> None:
    """Add elements between two places, and others inside them."""
    while start < end and chance.random() < 0.7:
        begin = chance.randint(start, end)
        start = chance.randint(begin, end)
        spans.append(Span(begin, start, parent))
        if chance.random() < 0.6:
            nested(chance, begin, start, spans, len(spans) - 1)


def inside(one: int | None, other: int, spans: list[Span]) -> bool:
    """Tell whether an element is another or inside it."""
    while one is not None and one != other:
        one = spans[one].parent
    return one == other


@pytest.mark.parametrize("parts_first", [False, True], ids=["in order", "parents first"])
def test_a_word_is_inside_an_element_and_all_around_it_or_in_none(parts_first: bool):
    for seed in range(200):
        chance, spans = random.Random(seed), list[Span]()
        text = " ".join("abcdef"[: chance.randint(1, 6)] for _ in range(12))
        words = words_of(text)
        if parts_first:  # the halves of a text come before the elements in either
            spans += [Span(0, words[6][0]), Span(words[6][0], len(text))]
            for half in (0, 1):
                nested(chance, spans[half].start, spans[half].end, spans, half)
        else:
            nested(chance, 0, len(text), spans)
        found = contained(text, words, [[number] for number in range(12)], spans=spans)
        for number, (start, end) in enumerate(words):
            letters = [
                max((n for n, one in enumerate(spans) if one.start <= at < one.end), default=None)
                for at in range(start, end)
            ]
            owner = max(letters, key=letters.count)
            assert [number in one for one in found] == [inside(owner, other, spans) for other in range(len(spans))]
        for one in found:
            own = [number for number in range(12) if number in one]
            assert (one.count, one.first, one.last) == (len(own), min(own, default=12), max(own, default=-1))


def test_most_source_words_decide_and_of_equals_those_deepest():
    spans = [Span(0, 5), Span(2, 5, parent=0), Span(6, 7)]
    found = contained("a b c d", words_of("a b c d"), [[0, 1], [0, 1, 2], [1, 3, 3], [], [3]], spans=spans)
    assert [[number for number in range(5) if number in one] for one in found] == [[0, 1], [0, 1], [2, 4]]


def test_of_elements_inside_each_other_without_end_the_deepest_tags_stand_alone():
    page = "<p>cat" + "<b>" * 300 + "dog" + "</b>" * 300 + "</p>"
    document = HypertextDocument(page)
    assert sum(not one.alone for one in document.segments[0].spans) == DEEPEST
    assert document.text(document.segments) == page
