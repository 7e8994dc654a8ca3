"""Placeholders that a translation lost, changed or added are put back, replaced or taken out where the links say.

All that is wrong in different places of a text is mended at once, so that the time grows with the length of the text, and not
with how much is wrong in it.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.documents.alignment import Alignment, Edit, Range, edited, meeting
from dragoman.documents.placeholders import Placeholder, is_marked, missing, placeholders

ATTEMPTS = 1000
"""Number of times that a text is mended before that is given up."""

_GROUP = re.compile(r"\d{3}(?!\d)")
_SIGNS = re.compile(r"[.,;:!?…]*(?:\s|$)")
_PERCENT = re.compile(r"(?<!%)%(?!%)")


@dataclass(frozen=True)
class Mended:
    """A translation that has the placeholders of its source, with its alignment, and how many had to be mended."""

    alignment: Alignment
    count: int


def mend(alignment: Alignment) -> Mended:
    """Return the translation with every placeholder of its source, and no other.

    What was lost takes the place of what is linked to it: of an other placeholder in these words, else of the words
    themselves, but a sign never that of letters. Where nothing is linked to it alone, or links are a guess, it comes after the
    translation of the word before it.

    >>> from dragoman.documents.alignment import align
    >>> mend(align("delete %s now", "xoá ⁇ ngay", [(0, 0), (1, 1), (2, 2)])).alignment.target
    'xoá %s ngay'
    >>> mend(align("costs $price.", "giá là", [(0, 0)])).alignment.target
    'giá $price là'
    """
    edits = _doubling(alignment)
    count = len(edits)
    for _ in range(ATTEMPTS):
        alignment = edited(alignment, edits) if edits else alignment
        lost, extra = missing(alignment.source, alignment.target)
        wrong = [one for one in extra if not one.is_number]
        if lost:
            edits = _Restoring(alignment, extra).edits(lost)
        elif wrong:
            edits = _removals(alignment.target, wrong)
        else:
            break
        count += len(edits)
    return Mended(alignment, count)


def _of_target(alignment: Alignment) -> list[Placeholder]:
    """Return the placeholders of a translation."""
    return placeholders(alignment.target, marked=is_marked(alignment.source))


def _doubling(alignment: Alignment) -> list[Edit]:
    """Return the edits that write percent signs as `%%`, if that is how the source writes all of its own."""
    doubled = [found.span() for found in re.finditer("%%", alignment.source)]
    if not doubled or _lone_percents(alignment.source, placeholders(alignment.source)):
        return []
    places = _lone_percents(alignment.target, _of_target(alignment))
    return [Edit(place, place + 1, "%%", doubled[min(n, len(doubled) - 1)]) for n, place in enumerate(places)]


def _lone_percents(text: str, known: Sequence[Placeholder]) -> list[int]:
    """Return where percent signs stand alone, outside of placeholders."""
    inside = [(one.start, one.end) for one in known]
    found = (one.start() for one in _PERCENT.finditer(text))
    return [place for place in found if not meeting(inside, (place, place + 1))]


def _removals(text: str, extra: Sequence[Placeholder]) -> list[Edit]:
    """Return the edits that take placeholders out, each with the space before it or, at the beginning, after it."""
    edits, done = [], 0
    for one in extra:
        start, end = one.start, one.end
        if start == done:  # all before it is taken out too
            end += text[end : end + 1].isspace()
            done = end
        elif text[start - 1].isspace():
            start -= 1
        edits.append(Edit(start, end, "", (0, 0)))
    return edits


class _Places:
    """Where a translation is edited: in places apart, so that no edit would be another one after the others."""

    def __init__(self, alignment: Alignment) -> None:
        self.starts = [start for start, _ in alignment.target_words]
        self.ends = [end for _, end in alignment.target_words]
        self.touched: set[int] = set()

    def claim(self, edit: Edit) -> bool:
        """Take the place of an edit if it is apart from the others, with at least a word between; tell whether it is."""
        near = bisect_left(self.ends, edit.start), bisect_right(self.starts, edit.end) - 1
        low, high = min(near), max(near)
        if not self.touched.isdisjoint(range(low - 1, high + 2)):
            return False
        self.touched.update(range(low, high + 1))
        return True


class _Restoring:
    """Puts lost placeholders back into a translation."""

    def __init__(self, alignment: Alignment, extra: Sequence[Placeholder]) -> None:
        self.alignment = alignment
        self.sources, self.targets = alignment.sources_of(), alignment.targets_of()
        self.extra = [(one.start, one.end) for one in extra]
        self.kinds = [_kind(one) for one in extra]
        self.used: set[int] = set()
        """The numbers of those that the translation has too many of whose place something lost has taken."""
        self.free = {
            kind: [n for n in reversed(range(len(extra))) if self.kinds[n] == kind] for kind in set(self.kinds)
        }
        """The numbers of those left, by kind, the first one last."""
        self.there = _of_target(alignment)
        self.there_ends = [one.end for one in self.there]
        known = set(extra)
        self.kept = [(one.start, one.end) for one in self.there if one not in known]
        self.runs: dict[tuple[range, bool], tuple[list[Range], Range | None]] = {}
        """What is linked to some source words alone, and of that the longest part without placeholders."""
        self.source_ends = [end for _, end in alignment.source_words]
        self.places = _Places(alignment)
        self.restored: list[int] = []
        """Where the placeholders dealt with so far stand in the source, in order."""
        self.made: dict[int, Edit | None] = {}
        """The edits that put them back; None for each that waits for others."""

    def edits(self, lost: Sequence[Placeholder]) -> list[Edit]:
        """Return the edits that put back as many lost placeholders as can be at once, at least the first one."""
        edits = []
        for one in self._unlinked(lost):
            edit = self._edit(one)
            edits += [] if edit is None else [edit]
            self.made.setdefault(one.start, edit)
            insort(self.restored, one.start)
        return edits

    def _unlinked(self, lost: Sequence[Placeholder]) -> list[Placeholder]:
        """Choose of equal placeholders those that are linked to none like them: the others are in the translation."""
        values = {one.value for one in lost}
        same: dict[str, list[Placeholder]] = {value: [] for value in values}
        for one in placeholders(self.alignment.source):
            if one.value in values:
                same[one.value].append(one)
        owner: dict[tuple[str, int], int] = {
            (value, word): one.start
            for value, some in same.items()
            for one in some
            for word in meeting(self.alignment.source_words, (one.start, one.end))
        }
        taken: set[int | None] = set()
        for one in self.there:
            if one.value in values:
                for word in meeting(self.alignment.target_words, (one.start, one.end)):
                    owners = {owner.get((one.value, i)) for i in self.sources[word]}
                    taken |= owners if len(owners) == 1 else set()
        free = {value: [one for one in some if one.start not in taken][::-1] for value, some in same.items()}
        return [free[one.value].pop() if len(same[one.value]) > 1 and free[one.value] else one for one in lost]

    def _edit(self, lost: Placeholder) -> Edit | None:
        """Return the edit that puts a placeholder back, or None if it depends on others that must be made before."""
        own = (lost.start, lost.end)
        words = meeting(self.alignment.source_words, own)
        if (words, lost.is_sign) not in self.runs:
            self.runs[words, lost.is_sign] = self._linked(words, is_sign=lost.is_sign)
        linked, run = self.runs[words, lost.is_sign]
        spoilt = self._spoilt(lost, linked)
        if spoilt is not None:
            self.used.add(spoilt)
            start, end = self.extra[spoilt]
            return self._claimed(_apart(self.alignment.target, Edit(start, end, lost.text, own), signs=False))
        return self._inserting(lost) if run is None else self._claimed(_replacing(self.alignment, run, lost))

    def _spoilt(self, lost: Placeholder, linked: Sequence[Range]) -> int | None:
        """Return the number of what stands in the place of a placeholder: something like it that is linked to it.

        Where nothing is, it is the first one like it anywhere, but for numbers.
        """
        kind = _kind(lost)
        for place in linked:
            for number in meeting(self.extra, place):
                if number not in self.used and self.kinds[number] == kind:
                    return number
        left = self.free.get(kind, [])
        while left and left[-1] in self.used:
            left.pop()
        return left[-1] if left and not lost.is_number else None

    def _claimed(self, edit: Edit) -> Edit | None:
        """Return an edit if it is apart from all others."""
        return edit if self.places.claim(edit) else None

    def _linked(self, words: range, *, is_sign: bool) -> tuple[list[Range], Range | None]:
        """Return the places linked to some source words and to no others, and the longest run of those without placeholders."""
        near = sorted({j for i in words for j in self.targets[i]})
        own = set(words)
        linked = [self.alignment.target_words[j] for j in near if own.issuperset(self.sources[j])]
        free = [place for place in linked if not meeting(self.kept, place)] if self.alignment.certain else []
        if is_sign:  # of which a model knows nothing, so that words and marks linked to it belong to others
            text = self.alignment.target
            free = [place for place in free if not re.search(r"[^\W_]|[.,;:!?]", text[slice(*place)])]
        return linked, _longest_run(self.alignment, free)

    def _inserting(self, lost: Placeholder) -> Edit | None:
        """Return the edit that puts a placeholder after the translation of the nearest word before it that has one."""
        text = self.alignment.target
        before = bisect_right(self.source_ends, lost.start) - 1
        while before >= 0 and not self.targets[before]:
            before -= 1
        last = bisect_left(self.restored, lost.start) - 1
        if last >= 0 and (before < 0 or self.restored[last] >= self.source_ends[before]):
            return self._following(self.made[self.restored[last]], lost)
        place = self.alignment.target_words[self.targets[before][-1]][1] if before >= 0 else 0
        while before >= 0 and place > 1 and text[place - 1] in ".,;:!?…" and not text[place - 2].isspace():
            place -= 1
        inside = bisect_right(self.there_ends, place)
        if inside < len(self.there) and self.there[inside].start < place:
            place = self.there[inside].end
        return self._claimed(_apart(text, Edit(place, place, lost.text, (lost.start, lost.end))))

    def _following(self, edit: Edit | None, lost: Placeholder) -> Edit | None:
        """Return the edit that puts a placeholder after what another edit puts back, if no more than signs follows that."""
        if edit is None or not (edit.text[-1].isspace() or _SIGNS.match(self.alignment.target, edit.end)):
            return None
        if edit.text[-1].isspace() and edit.text.rstrip()[-1].isdigit():
            return None  # two numbers need a comma between them
        own = Edit(edit.end, edit.end, lost.text, (lost.start, lost.end))
        return _apart(self.alignment.target, own, before=edit.text)


def _kind(one: Placeholder) -> tuple[bool, bool]:
    """Return what a placeholder has in common with those that may stand in its place."""
    return one.is_number, one.is_sign


def _longest_run(alignment: Alignment, places: Sequence[Range]) -> Range | None:
    """Return the longest range of places with no word between; None without places."""
    best: Range | None = None
    start = end = -1
    for place in places:
        start = place[0] if end < 0 or alignment.target[end : place[0]].strip() else start
        end = place[1]
        if best is None or end - start > best[1] - best[0]:
            best = (start, end)
    return best


def _replacing(alignment: Alignment, run: Range, lost: Placeholder) -> Edit:
    """Return the edit that puts a placeholder in the place of words, but leaves the signs around them that are not its own."""
    text, (start, end) = alignment.target, run
    while end - start > 1 and text[end - 1] in ".,;:!?…)]»”\"'" and text[end - 1] != lost.text[-1]:
        end -= 1
    while end - start > 1 and text[start] in "([«“¿¡\"'" and text[start] != lost.text[0]:
        start += 1
    return _apart(text, Edit(start, end, lost.text, (lost.start, lost.end)))


def _apart(text: str, edit: Edit, *, signs: bool = True, before: str | None = None) -> Edit:
    """Put spaces between what is put in and the letters and digits beside it, also most signs if so asked.

    Between two numbers that would be read as one in groups of digits there is a comma too. What stands `before` is of the
    text, unless it is given.
    """
    ahead = text[: edit.start] if before is None else before
    before, after = ahead[-1:], text[edit.end : edit.end + 1]
    left = (
        " " if before.isalnum() or (signs and before and not before.isspace() and before not in "([{«“‘\"'¿¡") else ""
    )
    right = (
        " " if after.isalnum() or (signs and after and not after.isspace() and after not in ".,;:!?…)]}»”’\"'") else ""
    )
    start, end = edit.start, edit.end
    if _GROUP.match(edit.text) and (digit := re.search(r"\d\s*$", ahead)):
        start, left = start - (len(ahead) - digit.start() - 1), ", "
    if edit.text[-1:].isdigit() and (group := re.match(rf"\s*(?={_GROUP.pattern})", text[end:])):
        end, right = end + group.end(), ", "
    return replace(edit, start=start, end=end, text=f"{left}{edit.text}{right}")
