"""The elements of a text, and which words of its translation are inside each of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.alignment import Range

DEEPEST = 256
"""How deep elements are nested at most; a tag that would open another one stands alone, as in parsers of HTML."""


@dataclass(frozen=True)
class Span:
    """An element of a text: a pair of tags around the characters from `start` to `end`, or, if it is `alone`, one tag there.

    Elements stand in the order of their first tags; `parent` is the number of the element around this one.
    """

    start: int
    end: int
    parent: int | None = None
    alone: bool = False


@dataclass(frozen=True)
class Contained:
    """The target words inside an element: a word is where most of its source words are."""

    first: int
    """The first of them; beyond the last word of all where there are none."""
    last: int
    """The last of them; -1 where there are none."""
    count: int
    _owners: Sequence[int]
    """For each target word the number of the deepest element that it is inside."""
    _numbers: range
    """The numbers of this element and of those inside it."""

    def __contains__(self, word: int) -> bool:
        return self._owners[word] in self._numbers


def contained(
    source: str, words: Sequence[Range], sources: Sequence[Sequence[int]], *, spans: Sequence[Span]
) -> list[Contained]:
    """Return for each element of a source the target words inside it; `sources` are the source words of each target word.

    Of equally many source words, those in the deepest element decide.

    >>> found = contained("the red house", [(0, 3), (4, 7), (8, 13)], [[0], [2], [1]], spans=[Span(4, 13), Span(8, 13, parent=0)])
    >>> [[word for word in range(3) if word in one] for one in found]
    [[1, 2], [1]]
    """
    numbers, depths = _numbered(spans)
    deepest: list[int | None] = [None] * len(source)
    for one, span in enumerate(spans):
        deepest[span.start : span.end] = [one] * (span.end - span.start)
    owners = [_most(source, deepest[start:end], start) for start, end in words]
    own = []
    for some in sources:
        counts = Counter(owners[word] for word in some)
        best = max(counts, key=lambda one: (counts[one], -1 if one is None else depths[one]), default=None)
        own.append(-1 if best is None else numbers[best].start)
    return _summed(spans, numbers, own)


def _numbered(spans: Sequence[Span]) -> tuple[list[range], list[int]]:
    """Number elements so that those inside one follow it; return the numbers of each and of those inside it, and the depths."""
    children: dict[int | None, list[int]] = {}
    depths = [0] * len(spans)
    for one, span in enumerate(spans):
        children.setdefault(span.parent, []).append(one)
        depths[one] = 0 if span.parent is None else depths[span.parent] + 1
    numbers = [range(0)] * len(spans)
    waiting = [(child, False) for child in children.get(None, [])]
    count = 0
    while waiting:
        one, is_done = waiting.pop()
        if is_done:
            numbers[one] = range(numbers[one].start, count)
            continue
        numbers[one] = range(count, count)
        count += 1
        waiting += [(one, True), *((child, False) for child in children.get(one, []))]
    return numbers, depths


def _most(text: str, characters: Sequence[int | None], start: int) -> int | None:
    """Return the element with most letters of a source word, or with most of its characters if it has no letters."""
    letters = [one for place, one in enumerate(characters, start) if text[place].isalnum()] or characters
    return Counter(letters).most_common(1)[0][0]


def _summed(spans: Sequence[Span], numbers: Sequence[range], own: Sequence[int]) -> list[Contained]:
    """Return for each element the words of its own and of those inside it."""
    elements = sorted(range(len(spans)), key=lambda one: numbers[one].start)
    first, last, count = [len(own)] * len(spans), [-1] * len(spans), [0] * len(spans)
    for word, number in enumerate(own):
        if number >= 0:
            one = elements[number]
            first[one], last[one], count[one] = min(first[one], word), word, count[one] + 1
    for one in reversed(elements):
        parent = spans[one].parent
        if parent is not None:
            first[parent], last[parent] = min(first[parent], first[one]), max(last[parent], last[one])
            count[parent] += count[one]
    return [Contained(first[one], last[one], count[one], own, numbers[one]) for one in range(len(spans))]
