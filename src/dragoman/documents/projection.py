"""Where the tags of a text belong in its translation, through the links between their words.

By construction no tag is lost or doubled, and what was nested is nested: each element gets one range of the translation, inside
the range of its parent and apart from those of its siblings, after the majority of its words.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from dragoman.documents.alignment import Alignment, Range
from dragoman.documents.containment import Span, contained

CLOSING = ".,;:!?…)]»”’\"'。、，！？؟۔،।"
"""Signs at the end of a word that an element ending before them in the source leaves out in the translation too."""

ENDING = ".!?…。！？"
"""Signs at the end of a sentence."""

OPENING = "([«“‘\"'¿¡"
"""Signs at the beginning of a word, likewise."""


@dataclass(frozen=True)
class Projection:
    """A translation with the elements of its source, in the source's order."""

    text: str
    spans: tuple[Span, ...]
    mended: int
    """Number of elements of whose words some are outside now, or that contain none although they did."""


def project(
    alignment: Alignment, spans: Sequence[Span], fixed: Mapping[int, Range] | None = None, *, spaces: bool = True
) -> Projection:
    """Return the translation with the elements of its source; `fixed` says where some elements must be, unless others are.

    An element around the whole of its parent stays around the whole of it. Any other one covers the range in which words of
    its own outnumber others most; the larger of two siblings chooses first. A tag alone, or without words, comes after the
    translation of the word before it, and a space is put beside it where the source has one and the translation would not, unless
    `spaces` is false.

    >>> from dragoman.documents.alignment import align
    >>> pair = align("the red house", "la maison rouge", [(0, 0), (2, 1), (1, 2)])
    >>> project(pair, [Span(4, 7)]).spans
    (Span(start=10, end=15, parent=None, alone=False),)
    >>> project(align("A B", "X Y"), [Span(1, 1, alone=True), Span(2, 3)]).spans
    (Span(start=1, end=1, parent=None, alone=True), Span(start=2, end=3, parent=None, alone=False))
    """
    if not spans:
        return Projection(alignment.target, (), 0)
    return _Projector(alignment, spans, fixed or {}).projection(spaces=spaces)


def nests(spans: Sequence[Span], length: int) -> bool:
    """Tell whether every element is inside its parent and inside a text of this length, and apart from its siblings.

    >>> nests([Span(0, 5), Span(2, 5, parent=0)], 5), nests([Span(0, 3), Span(2, 5)], 5)
    (True, False)
    """
    ends: dict[int | None, list[Range]] = {}
    for number, span in enumerate(spans):
        if span.parent is not None and span.parent >= number:
            return False
        around = Span(0, length) if span.parent is None else spans[span.parent]
        if not around.start <= span.start <= span.end <= around.end or (span.alone and span.start != span.end):
            return False
        ends.setdefault(span.parent, []).append((span.start, span.end))
    ordered = [sorted(ranges) for ranges in ends.values()]
    return all(one[1] <= other[0] for ranges in ordered for one, other in pairwise(ranges))


def divide(alignment: Alignment, cuts: Sequence[int]) -> list[int]:
    """Return where a translation is to be cut so that its parts belong to those of the source between `cuts`, places in it.

    Cuts are between words, in order, and leave words for every part as long as there are enough of them. Each is put where the
    links cross it least; among such places, where the share of the text before it is nearest to the source's.

    >>> from dragoman.documents.alignment import align
    >>> divide(align("I think that you are right", "Tôi nghĩ rằng bạn đúng", [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]), [13])
    [14]
    """
    words, owners = alignment.target_words, alignment.sources_of()
    starts = [start for start, _ in alignment.source_words]
    found: list[int] = []
    least = 0
    for number, cut in enumerate(cuts):
        before = bisect_left(starts, cut)
        most = len(words) - (len(cuts) - number)
        share = cut / max(len(alignment.source), 1)
        best: tuple[int, float] | None = None
        chosen = min(max(least + 1, 0), len(words))
        wrong = sum(i < before for some in owners[least:] for i in some)
        for place in range(least + 1, most + 1):
            wrong += sum(1 if i >= before else -1 for i in owners[place - 1])
            off = abs(words[place][0] / max(len(alignment.target), 1) - share)
            if best is None or (wrong, off) < best:
                best, chosen = (wrong, off), place
        least = chosen
        found.append(words[chosen][0] if chosen < len(words) else len(alignment.target))
    return found


class _Projector:
    """Projects the elements of one text."""

    def __init__(self, alignment: Alignment, spans: Sequence[Span], fixed: Mapping[int, Range]) -> None:
        self.alignment, self.spans, self.fixed = alignment, spans, fixed
        self.children: dict[int | None, list[int]] = {}
        for number, span in enumerate(spans):
            self.children.setdefault(span.parent, []).append(number)
        self.sources, self.targets = alignment.sources_of(), alignment.targets_of()
        self.inside = contained(alignment.source, alignment.source_words, self.sources, spans=spans)
        self.starts = [start for start, _ in alignment.target_words]
        self.ends = [end for _, end in alignment.target_words]
        self.last_before = [*accumulate((max(some, default=-1) for some in self.targets), max, initial=-1)]
        lowest = accumulate(
            (min(some, default=len(self.ends)) for some in reversed(self.targets)), min, initial=len(self.ends)
        )
        self.first_from = [*reversed([*lowest])]
        self.places: dict[int, Range] = {}
        self.mended = 0

    def projection(self, *, spaces: bool) -> Projection:
        """Place all elements, from the outside to the inside."""
        waiting: list[int | None] = [None]
        while waiting:
            parent = waiting.pop()
            self._place_children(parent)
            waiting += [child for child in self.children.get(parent, []) if not self.spans[child].alone]
        placed = [
            replace(span, start=self.places[number][0], end=self.places[number][1])
            for number, span in enumerate(self.spans)
        ]
        return self._with_spaces(placed) if spaces else Projection(self.alignment.target, tuple(placed), self.mended)

    def _place_children(self, parent: int | None) -> None:
        """Place the elements inside one, or those without parent: first those with words, then the others."""
        outer = (0, len(self.alignment.target)) if parent is None else self.places[parent]
        around = (0, len(self.alignment.source)) if parent is None else _range(self.spans[parent])
        empty = []
        taken: set[int] = set()
        placed: list[tuple[Range, int]] = []
        """The places of those that have one, in order, each with its element."""
        children = self.children.get(parent, [])
        for child in sorted(children, key=lambda one: (one not in self.fixed, -self.inside[one].count, one)):
            span = self.spans[child]
            place: Range | None = None
            if child in self.fixed and _is_free(self.fixed[child], outer, placed):
                place = self.fixed[child]
            elif span.alone or not self.alignment.source[span.start : span.end].strip():
                empty.append(child)
                continue
            elif self._covers(span, around) and not placed:
                place = self._without_blanks(span, outer, around)
            else:
                place = self._part_of_word(span, outer, placed) or self._range_of(child, outer, taken)
            if place is None:
                self.mended += 1
                empty.append(child)
                continue
            self.places[child] = place
            insort(placed, (place, child))
            taken.update(range(bisect_right(self.ends, place[0]), bisect_left(self.starts, place[1])))
        wide = [(place, sibling) for place, sibling in placed if place[0] < place[1]]
        for child in sorted(empty):
            point = self._point_of(child, outer, around, wide=wide)
            self.places[child] = (point, point)

    def _covers(self, span: Span, around: Range) -> bool:
        """Tell whether an element has all text of its parent."""
        text = self.alignment.source
        return not (text[around[0] : span.start].strip() or text[span.end : around[1]].strip())

    def _without_blanks(self, span: Span, outer: Range, around: Range) -> Range:
        """Return a range without the white space at its ends that an element has beside it in the source."""
        source, text = self.alignment.source, self.alignment.target[outer[0] : outer[1]]
        before, after = source[around[0] : span.start], source[span.end : around[1]]
        start = outer[0] + len(before) * (before.isspace() and text.startswith(before))
        end = outer[1] - len(after) * (after.isspace() and text.endswith(after))
        return start, max(start, end)

    def _range_of(self, child: int, outer: Range, taken: Collection[int]) -> Range | None:
        """Return where, in the words of its parent that are free, its own outnumber others most; None where it has no words.

        Of a word that its parent has only a part of, it has no more.
        """
        words, inside = self.alignment.target_words, self.inside[child]
        first_own, last_own = bisect_right(self.ends, outer[0]), bisect_left(self.starts, outer[1]) - 1
        best = 0
        found: Range | None = None
        total, begun = 0, 0
        for number in range(max(first_own, inside.first), min(last_own, inside.last) + 1):
            if number in taken:
                total = 0
                continue
            if total <= 0:
                total, begun = 0, number
            total += 1 if number in inside else -1 if self.sources[number] else 0
            if number in inside and total > best:
                best, found = total, (begun, number)
        if found is None:
            return None
        first = next(word for word in range(found[0], found[1] + 1) if word in inside)
        self.mended += inside.first < first or found[1] < inside.last
        place = max(words[first][0], outer[0]), min(words[found[1]][1], outer[1])
        return self._trimmed(self.spans[child], place)

    def _part_of_word(self, span: Span, outer: Range, placed: Sequence[tuple[Range, int]]) -> Range | None:
        """Return the place of an element around a part of a word, as the 2 of H2O, if the translation has it too."""
        source, text = self.alignment.source, self.alignment.target
        word = bisect_left(self.alignment.source_words, (span.start + 1,)) - 1
        start, end = self.alignment.source_words[word] if word >= 0 else (0, 0)
        before, after = source[start : span.start], source[span.end : end]
        if not start <= span.start < span.end <= end or not any(map(str.isalnum, before + after)):
            return None
        own, is_last = source[span.start : span.end], not after.strip(CLOSING)
        for target in self.targets[word]:
            place = (text.rfind if is_last else text.find)(own, *self.alignment.target_words[target])
            found = place, place + len(own)
            if place >= 0 and _is_free(found, outer, placed):
                return found
        return None

    def _trimmed(self, span: Span, place: Range) -> Range:
        """Leave out signs at the ends of a range where the element has none at its ends in the source."""
        own = self.alignment.source[span.start : span.end].strip()
        text, (start, end) = self.alignment.target, place
        if own[-1] not in CLOSING:
            while end - start > 1 and text[end - 1] in CLOSING:
                end -= 1
        if own[0] not in OPENING:
            while end - start > 1 and text[start] in OPENING:
                start += 1
        return start, end

    def _point_of(self, child: int, outer: Range, around: Range, *, wide: Sequence[tuple[Range, int]]) -> int:
        """Return the place of an element without words: after the translation of the word before it, if that is known.

        It is not inside one of its siblings that are around something (`wide`, in the order of their places).
        """
        span, text = self.spans[child], self.alignment.source
        start, end = self._without_blanks(span, outer, around)
        if not text[around[0] : span.start].strip():
            place = start
        elif not text[span.end : around[1]].strip():
            place = end
        else:
            place = min(max(self._after_space(span, self._after_word_before(span.start)), outer[0]), outer[1])
        done, moved = -1, True
        while moved:
            moved = False
            until = bisect_right(wide, place, key=lambda one: one[0][0])
            for (start, end), sibling in sorted(wide[max(until - 2, 0) : until], key=lambda one: one[1]):
                if sibling > done and (start < place < end or place == (start if sibling < child else end)):
                    place, done, moved = end if sibling < child else start, sibling, True
                    break
        return place

    def _after_space(self, span: Span, place: int) -> int:
        """Return the place of a tag that has a space only before it in the source, and is beside a word or sign that follows."""
        source, text = self.alignment.source, self.alignment.target
        following = source[span.end : span.end + 1]
        beside = source[span.start - 1 : span.start].isspace() and not following.isspace()
        same = following not in CLOSING or text[place + 1 : place + 2] == following
        return place + (beside and same and text[place : place + 1].isspace())

    def _after_word_before(self, place: int) -> int:
        """Return the end of the translation of the last word before a place in the source, or the start of that after it.

        Where all that is before the place is translated before all that is after it, as at the end of a sentence, it is the end
        of all that is before, with the sign that ends a sentence there, also one that the source lacks.
        """
        alignment, targets = self.alignment, self.targets
        before = bisect_left(alignment.source_words, (place,))
        following = alignment.source[place : place + 1]
        glued = bool(re.match(r"\w", following))
        last, after = self.last_before[before], self.first_from[before]
        if 0 <= last < after < len(alignment.target_words):
            inside = glued and alignment.source_words[before - 1][1] > place
            target = self._signed(before - 1, range(last, after))
            ended = alignment.target[alignment.target_words[target][1] - 1] in ENDING and following not in CLOSING
            return self._end_of(before - 1, target, glued=inside or ended)
        for word in range(before - 1, -1, -1):
            if targets[word]:
                return self._end_of(word, targets[word][-1], glued=glued and alignment.source_words[word][1] > place)
        for word in range(before, len(targets)):
            if targets[word]:
                return alignment.target_words[targets[word][0]][0]
        return int(place / len(alignment.source) * len(alignment.target)) if not alignment.target_words else 0

    def _signed(self, word: int, targets: range) -> int:
        """Return the first of some target words that ends with a sign as a source word does; the first of all if none does."""
        alignment = self.alignment
        if alignment.source[alignment.source_words[word][1] - 1] not in CLOSING:
            return targets[0]
        ends = {one: alignment.target[alignment.target_words[one][1] - 1] for one in targets}
        return next((one for one, sign in ends.items() if sign in CLOSING), targets[0])

    def _end_of(self, word: int, target: int, *, glued: bool) -> int:
        """Return the end of a target word, without signs that the source word does not end with either."""
        start, end = self.alignment.target_words[target]
        if glued:
            return end
        last = self.alignment.source[self.alignment.source_words[word][1] - 1]
        while last not in CLOSING and end - start > 1 and self.alignment.target[end - 1] in CLOSING:
            end -= 1
        return end

    def _with_spaces(self, placed: list[Span]) -> Projection:
        """Put spaces beside tags alone that have them in the source."""
        source, text = self.alignment.source, self.alignment.target
        added: set[int] = set()
        following: dict[int, bool] = {}  # whether all tags alone at a place need a space after them
        for span, now in zip(self.spans, placed, strict=True):
            if not span.alone:
                continue
            apart = [span.start > 0 and source[one : one + 1].isspace() for one in (span.start - 1, span.start)]
            before, after = text[now.start - 1 : now.start], text[now.start : now.start + 1]
            glued = before.isalnum() or (all(apart) and before and not before.isspace())
            added |= {now.start} if apart[0] and glued and span.start < len(source) else set()
            following[now.start] = following.get(now.start, True) and all(apart) and not glued and after.isalnum()
        behind = {place for place, needed in following.items() if needed} - added
        if not added | behind:
            return Projection(text, tuple(placed), self.mended)
        return _spaced(text, placed, sorted(added | behind), behind=behind, mended=self.mended)


def _spaced(
    text: str, placed: Sequence[Span], added: Sequence[int], *, behind: Collection[int], mended: int
) -> Projection:
    """Put a space at each of some places: after what ends there, and before the tags alone there, or `behind` them."""
    pieces, last = [], 0
    for place in added:
        pieces += [text[last:place], " "]
        last = place
    spans = []
    for span in placed:
        ending = bisect_left(added, span.end)
        starting = bisect_left(added, span.start + (span.start not in behind if span.alone else span.start < span.end))
        start = span.start + starting
        spans.append(replace(span, start=start, end=start if span.start == span.end else span.end + ending))
    for span in reversed(spans):  # a tag at the start or end of its parent takes the space into it
        if span.parent is not None:
            around = spans[span.parent]
            spans[span.parent] = replace(around, start=min(span.start, around.start), end=max(span.end, around.end))
    whole = tuple(spans)
    length = len(text) + len(added)
    if not nests(whole, length):
        return Projection(text, tuple(placed), mended)
    return Projection("".join([*pieces, text[last:]]), whole, mended)


def _is_free(place: Range, outer: Range, placed: Sequence[tuple[Range, int]]) -> bool:
    """Tell whether a place is inside the parent, and apart from the siblings that have theirs."""
    before = bisect_left(placed, place[1], key=lambda one: one[0][0]) - 1
    return outer[0] <= place[0] and place[1] <= outer[1] and (before < 0 or placed[before][0][1] <= place[0])


def _range(span: Span) -> Range:
    """Return the place of an element."""
    return span.start, span.end
