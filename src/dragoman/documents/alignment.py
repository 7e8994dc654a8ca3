"""Which words of a text and of its translation belong together, by their places in both."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

Range = tuple[int, int]
"""The first character of a part of a text, and the one after its last."""

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Alignment:
    """A text and its translation, the places of the words of both, and the links (source word, target word) between them."""

    source: str
    target: str
    source_words: tuple[Range, ...]
    target_words: tuple[Range, ...]
    links: frozenset[tuple[int, int]]
    certain: bool = True
    """Whether the links are more than a guess by position."""

    def sources_of(self) -> list[list[int]]:
        """Return the source words of each target word, in order."""
        return _partners(((there, here) for here, there in self.links), len(self.target_words))

    def targets_of(self) -> list[list[int]]:
        """Return the target words of each source word, in order."""
        return _partners(self.links, len(self.source_words))


@dataclass(frozen=True)
class Edit:
    """A part of a translation and what is to stand there, which belongs to the source words between two places."""

    start: int
    end: int
    text: str
    source: Range


def words_of(text: str) -> tuple[Range, ...]:
    """Return the places of what stands between white space.

    >>> words_of("two words")
    ((0, 3), (4, 9))
    """
    return tuple(found.span() for found in _WORD.finditer(text))


def align(source: str, target: str, links: Iterable[tuple[int, int]] | None = None) -> Alignment:
    """Return the alignment of two texts whose words, between white space, are linked; by position if no links are known.

    >>> sorted(align("a b c", "x y").links)
    [(0, 0), (2, 1)]
    """
    here, there = words_of(source), words_of(target)
    known = by_position(source, target) if links is None else links
    kept = frozenset((i, j) for i, j in known if 0 <= i < len(here) and 0 <= j < len(there))
    return Alignment(source, target, here, there, kept, certain=links is not None)


def by_position(source: str, target: str) -> frozenset[tuple[int, int]]:
    """Link each target word with a source word: an equal one if both have only one of these, or the one as far along the text.

    >>> sorted(by_position("see page 12 now", "12 là trang"))
    [(2, 0), (2, 1), (3, 2)]
    """
    here, there = ([text[start:end] for start, end in words_of(text)] for text in (source, target))
    if not here:
        return frozenset()
    counts = Counter(here), Counter(there)
    equal = {word: number for number, word in enumerate(here) if counts[0][word] == counts[1][word] == 1}
    return frozenset((equal.get(word, int((j + 0.5) * len(here) / len(there))), j) for j, word in enumerate(there))


def unchanged(text: str) -> Alignment:
    """Return the alignment of a text with itself."""
    return align(text, text, ((n, n) for n in range(len(words_of(text)))))


def join(parts: Sequence[Alignment], gaps: Sequence[str]) -> Alignment:
    """Put the alignments of consecutive sentences together; the gaps, one more than there are parts, stand around them.

    >>> join([align("A b.", "X y."), align("C.", "Z.")], ["", " ", " ☐"]).target_words
    ((0, 1), (2, 4), (5, 7), (8, 9))
    """
    here: list[Range] = []
    there: list[Range] = []
    links: set[tuple[int, int]] = set()
    pieces = [unchanged(gaps[0])]
    for part, gap in zip(parts, gaps[1:], strict=True):
        pieces += [part, unchanged(gap)]
    before = after = 0
    for part in pieces:
        links |= {(i + len(here), j + len(there)) for i, j in part.links}
        here += [(start + before, end + before) for start, end in part.source_words]
        there += [(start + after, end + after) for start, end in part.target_words]
        before, after = before + len(part.source), after + len(part.target)
    source, target = "".join(one.source for one in pieces), "".join(one.target for one in pieces)
    certain = all(part.certain for part in parts)
    return Alignment(source, target, tuple(here), tuple(there), frozenset(links), certain=certain)


def edited(alignment: Alignment, edits: Sequence[Edit]) -> Alignment:
    """Return the alignment with other text in some parts of the translation, which must not overlap.

    >>> changed = edited(align("see %s now", "xem s nay", [(0, 0), (1, 1), (2, 2)]), [Edit(4, 5, "%s", (4, 6))])
    >>> changed.target, sorted(changed.links)
    ('xem %s nay', [(0, 0), (1, 1), (2, 2)])
    """
    old = alignment.sources_of()
    pieces: list[str] = []
    words: list[tuple[Range, set[int]]] = []
    done, length, number = 0, 0, 0
    for edit in [*sorted(edits, key=lambda one: (one.start, one.end)), None]:
        until = len(alignment.target) if edit is None else edit.start
        shift = length - done
        while number < len(alignment.target_words) and alignment.target_words[number][1] <= until:
            start, end = alignment.target_words[number]
            if start >= done:
                words.append(((start + shift, end + shift), set(old[number])))
            number += 1
        pieces.append(alignment.target[done:until])
        length += until - done
        if edit is not None:
            begun = length + len(edit.text) - len(edit.text.lstrip())
            if edit.text.strip():
                words.append(
                    ((begun, begun + len(edit.text.strip())), set(meeting(alignment.source_words, edit.source)))
                )
            pieces.append(edit.text)
            done, length = edit.end, length + len(edit.text)
    target = "".join(pieces)
    places = _whole([place for place, _ in words], target)
    whole = [(place, some) for place, (_, some) in zip(places, words, strict=True)]
    whole += [(place, set()) for place in words_of(target) if not meeting(places, place)]  # left of a word by an edit
    whole.sort(key=lambda one: one[0])
    links = frozenset((i, j) for j, (_, some) in enumerate(whole) for i in some)
    return replace(alignment, target=target, target_words=tuple(place for place, _ in whole), links=links)


def _whole(words: Sequence[Range], text: str) -> tuple[Range, ...]:
    """Give what edits left of words, such as signs, to the words that it stands beside."""
    found: list[Range] = []
    for number, (start, end) in enumerate(words):
        low = found[-1][1] if found else 0
        high = words[number + 1][0] if number + 1 < len(words) else len(text)
        while start > low and not text[start - 1].isspace():
            start -= 1
        while end < high and not text[end].isspace():
            end += 1
        found.append((start, end))
    return tuple(found)


def meeting(places: Sequence[Range], own: Range) -> range:
    """Return the numbers of those of some ordered places that share a character with another.

    >>> meeting([(0, 2), (3, 5), (6, 8)], (4, 7))
    range(1, 3)
    """
    first = bisect_right(places, own[0], key=lambda one: one[1])
    return range(first, max(first, bisect_left(places, own[1], key=lambda one: one[0])))


def _partners(links: Iterable[tuple[int, int]], count: int) -> list[list[int]]:
    """Return the second members of the links of each first one."""
    found: list[list[int]] = [[] for _ in range(count)]
    for here, there in sorted(links):
        found[here].append(there)
    return found
