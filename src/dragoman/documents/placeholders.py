"""What a translation must hand on unchanged: format specifiers, variables, addresses, numbers, and signs that are no words, such
as the box of a form; where it did not, it is mended.

The model reads and writes them as words. What it lost or changed is put back where the links say that it belongs.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dragoman.documents.alignment import Alignment, Edit, Range, edited, meeting
from dragoman.text.segments import SIGN

_SPECIFIER = r"%(?:\d+\$)?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[jztLq]|I32|I64)?"
"""The beginning of a format specifier, before its letter."""
_MARKER = r"(?:(?<![\d%])|(?<=%\d))%L?([1-9]\d?)(?![\d.,]*\d|\$)"
"""A marker of Qt, such as `%1`, or a percentage that is written before its number, as in Turkish."""
_KINDS = (
    ("address", r"(?:https?|ftp)://[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}…]|www\.[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}…]"),
    # Of the name, as many characters as RFC 5321 allows, or each letter of a long text would look for an @ to the end.
    ("mail", r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    (
        "brackets",
        r"\{\{[^{}\n]{1,80}\}\}|[$#%]\{[^{}\n]{1,80}\}|\{%[^{}\n]{1,80}%\}|\{ ?\$[\w.-]{1,40} ?\}|\{[\w.:!,#-]{0,40}\}"
        r"|\{[\w.]{0,40}(?:\[\w{1,40}\])*(?:![a-z])?(?::[^\s{}][^{}\n]{0,40})?\}"
        r"|\{\w{1,40}, ?(?:number|date|time|spellout|ordinal|duration)(?:,[^{}\n]{1,60})?\}|</?\d{1,3} ?/?>",
    ),
    ("named", r"%\(\w+\)[-+#0]?\d*(?:\.\d+)?[a-zA-Z]|%[A-Za-z_]\w+%(?![\w%])|\$[A-Za-z_]\w*"),
    ("printf", rf"(?<![\d%])(?:{_SPECIFIER}[a-zA-Z@](?!\w)|(?<!\d\s){_SPECIFIER}[diouxXeEfFgGcsp@])"),
    ("marker", _MARKER),
    ("sign", rf"{SIGN}+|_{{3,}}|(?<!\w)__(?!\w)|\.{{6,}}|…{{3,}}"),
    ("number", r"\d{1,3}(?:[   ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*"),
)
_PLACEHOLDER, _WITHOUT_MARKERS = (
    re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _KINDS if name != without))
    for without in ("", "marker")
)
_MARKERS = re.compile(_MARKER)
_SIGN = re.compile(dict(_KINDS)["sign"])
"""Pictures, boxes, arrows, and blanks to be filled in."""
_PERCENT = re.compile(r"(?<!%)%(?!%)")

ATTEMPTS = 1000
"""Number of edits after which mending a text gives up."""

_GROUP = re.compile(r"\d{3}(?!\d)")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’   ]\d{3})+$")


@dataclass(frozen=True)
class Placeholder:
    """A part of a text that its translation has too; of a number, only the value is the same."""

    start: int
    end: int
    text: str
    value: str
    """What equals in both: the text itself, or the value of a number."""

    @property
    def is_number(self) -> bool:
        """Tell whether this is a number."""
        return self.value.startswith("#")

    @property
    def is_sign(self) -> bool:
        """Tell whether this is a sign that is no word."""
        return _SIGN.fullmatch(self.text) is not None

    def is_like(self, other: "Placeholder") -> bool:
        """Tell whether this may stand where a translation wrote the other one instead."""
        return (self.is_number, self.is_sign) == (other.is_number, other.is_sign)


@dataclass(frozen=True)
class Mended:
    """A translation that has the placeholders of its source, with its alignment, and how many had to be mended."""

    alignment: Alignment
    count: int


def placeholders(text: str, *, marked: bool | None = None) -> list[Placeholder]:
    """Return the placeholders of a text, in order; unless it is said whether it is `marked` by Qt's markers, the text tells.

    >>> [one.text for one in placeholders("%s owes {name} 1,000.50 by 3 May: see http://a.b/c?d=1.")]
    ['%s', '{name}', '1,000.50', '3', 'http://a.b/c?d=1']
    """
    return list(_found(text, is_marked(text) if marked is None else marked))


@lru_cache(maxsize=16)
def _found(text: str, with_markers: bool) -> tuple[Placeholder, ...]:
    """Find placeholders; while a translation is mended, the same texts are looked through several times."""
    found = []
    for one in (_PLACEHOLDER if with_markers else _WITHOUT_MARKERS).finditer(text):
        value = value_of(one[0]) if one.lastgroup == "number" else one[0]
        found.append(Placeholder(one.start(), one.end(), one[0], value))
    return tuple(found)


def is_marked(text: str) -> bool:
    """Tell whether a text has Qt's markers, which count from `%1`; a number after a percent sign is none otherwise.

    >>> is_marked("%2 of %1"), is_marked("%50 indirim")
    (True, False)
    """
    numbers = {int(one) for one in _MARKERS.findall(text)}
    return bool(numbers) and max(numbers) == len(numbers)


def is_translatable(text: str) -> bool:
    """Tell whether there is anything to translate: letters outside of placeholders.

    >>> is_translatable("%s: {name}, http://a.b"), is_translatable("50 %"), is_translatable("see %s")
    (False, False, True)
    """
    return any(one.isalpha() for one in _PLACEHOLDER.sub("", text))


def value_of(number: str) -> str:
    """Return the value of a number, however its language groups digits.

    >>> value_of("1,234,567") == value_of("1.234.567") == value_of("1234567"), value_of("1.5") == value_of("1,5")
    (True, True)
    """
    digits = "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in number)
    whole, sign, rest = digits, "", ""
    if not _GROUPED.match(digits):
        ends = [digits.rfind(one) for one in ".,"]
        if max(ends) >= 0 and (_GROUPED.match(digits[: max(ends)]) or digits[: max(ends)].isdigit()):
            whole, sign, rest = digits[: max(ends)], ".", digits[max(ends) + 1 :]
    joined = re.sub(r"\D", "", whole) if _GROUPED.match(whole) else re.sub(r"\D", ".", whole)
    return f"#{joined}{sign}{rest}"


def missing(source: str, target: str) -> tuple[list[Placeholder], list[Placeholder]]:
    """Return the placeholders that a translation lost, and those that it has too many of; of numbers, it may have more.

    >>> lost, extra = missing("%s has 2 cats", "%s %s có hai con mèo")
    >>> [one.text for one in lost], [one.text for one in extra]
    (['2'], ['%s'])
    """
    marked = is_marked(source)
    here, there = placeholders(source, marked=marked), placeholders(target, marked=marked)
    wanted, had = Counter(one.value for one in here), Counter(one.value for one in there)
    lost: list[Placeholder] = []
    extra: list[Placeholder] = []
    for too_many, some, bound, other in ((lost, here, wanted, had), (extra, there, had, wanted)):
        left = bound - other
        for one in reversed(some):
            if left[one.value] > 0:
                left[one.value] -= 1
                too_many.append(one)
    return _without_split(lost[::-1], extra), extra[::-1]


def conserved(source: str, target: str) -> bool:
    """Tell whether a translation has the placeholders of its source: each as often, numbers at least as often.

    >>> conserved("pay {0} by 1,000 days", "trả {0} sau 1.000 ngày"), conserved("%d", "%s")
    (True, False)
    """
    lost, extra = missing(source, target)
    return not lost and all(one.is_number for one in extra)


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
    percents = _doubling(alignment)
    alignment = edited(alignment, percents) if percents else alignment
    count = len(percents)
    for _ in range(ATTEMPTS):
        lost, extra = missing(alignment.source, alignment.target)
        if lost:
            alignment = edited(alignment, [_restoring(alignment, _unlinked(alignment, lost[0]), extra)])
        elif wrong := [one for one in extra if not one.is_number]:
            alignment = edited(alignment, [_removing(alignment.target, wrong[-1])])
        else:
            break
        count += 1
    return Mended(alignment, count)


def _unlinked(alignment: Alignment, lost: Placeholder) -> Placeholder:
    """Return that of the placeholders equal to a lost one which is linked to none like it: the others are in the translation."""
    same = [one for one in placeholders(alignment.source) if one.value == lost.value]
    if len(same) < 2:
        return lost
    owner = {i: n for n, one in enumerate(same) for i in meeting(alignment.source_words, (one.start, one.end))}
    sources, taken = alignment.sources_of(), set()
    for one in _of_target(alignment):
        if one.value == lost.value:
            for word in meeting(alignment.target_words, (one.start, one.end)):
                owners = {owner.get(i) for i in sources[word]}
                taken |= owners if len(owners) == 1 else set()
    return next((one for number, one in enumerate(same) if number not in taken), lost)


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
    found = (one.start() for one in _PERCENT.finditer(text))
    return [place for place in found if not any(one.start <= place < one.end for one in known)]


def _restoring(alignment: Alignment, lost: Placeholder, extra: Sequence[Placeholder]) -> Edit:
    """Return the edit that puts a lost placeholder back."""
    own = (lost.start, lost.end)
    linked = _linked(alignment, own)
    for one in extra:
        if one.is_like(lost) and any(_meets(place, one) for place in linked):
            return _apart(alignment.target, Edit(one.start, one.end, lost.text, own), signs=False)
    spoilt = next((one for one in extra if one.is_like(lost) and not lost.is_number), None)
    if spoilt is not None:
        return _apart(alignment.target, Edit(spoilt.start, spoilt.end, lost.text, own), signs=False)
    if not alignment.certain:
        return _inserting(alignment, lost)
    kept = [one for one in _of_target(alignment) if one not in extra]
    free = [place for place in linked if not any(_meets(place, one) for one in kept)]
    if lost.is_sign:  # of which a model knows nothing, so that words and marks linked to it belong to others
        free = [place for place in free if not re.search(r"[^\W_]|[.,;:!?]", alignment.target[slice(*place)])]
    run = _longest_run(alignment, free)
    if run is not None:
        return _replacing(alignment, run, lost)
    return _inserting(alignment, lost)


def _linked(alignment: Alignment, own: Range) -> list[Range]:
    """Return the places of the target words that are linked to the words of a placeholder, and to no others."""
    words = set(meeting(alignment.source_words, own))
    return [
        place
        for place, some in zip(alignment.target_words, alignment.sources_of(), strict=True)
        if some and words.issuperset(some)
    ]


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
    """Return the edit that puts a placeholder in the place of words, but leaves the signs around them."""
    text, (start, end) = alignment.target, run
    while end - start > 1 and text[end - 1] in ".,;:!?…)]»”\"'":
        end -= 1
    while end - start > 1 and text[start] in "([«“¿¡\"'":
        start += 1
    return _apart(text, Edit(start, end, lost.text, (lost.start, lost.end)))


def _inserting(alignment: Alignment, lost: Placeholder) -> Edit:
    """Return the edit that puts a placeholder after the translation of the nearest word before it that has one."""
    targets = alignment.targets_of()
    before = [i for i, (_, end) in enumerate(alignment.source_words) if end <= lost.start and targets[i]]
    place = alignment.target_words[targets[before[-1]][-1]][1] if before else 0
    if before:
        while place > 1 and alignment.target[place - 1] in ".,;:!?…" and not alignment.target[place - 2].isspace():
            place -= 1
    inside = next((one for one in _of_target(alignment) if one.start < place < one.end), None)
    place = inside.end if inside else place
    return _apart(alignment.target, Edit(place, place, lost.text, (lost.start, lost.end)))


def _apart(text: str, edit: Edit, *, signs: bool = True) -> Edit:
    """Put spaces between what is put in and the letters and digits beside it, also most signs if so asked.

    Between two numbers that would be read as one in groups of digits there is a comma too.
    """
    before, after = text[: edit.start][-1:], text[edit.end : edit.end + 1]
    left = (
        " " if before.isalnum() or (signs and before and not before.isspace() and before not in "([{«“‘\"'¿¡") else ""
    )
    right = (
        " " if after.isalnum() or (signs and after and not after.isspace() and after not in ".,;:!?…)]}»”’\"'") else ""
    )
    start, end = edit.start, edit.end
    if _GROUP.match(edit.text) and (digit := re.search(r"\d\s*$", text[:start])):
        start, left = digit.start() + 1, ", "
    if edit.text[-1:].isdigit() and (group := re.match(rf"\s*(?={_GROUP.pattern})", text[end:])):
        end, right = end + group.end(), ", "
    return replace(edit, start=start, end=end, text=f"{left}{edit.text}{right}")


def _removing(text: str, extra: Placeholder) -> Edit:
    """Return the edit that takes a placeholder out, with the space before it or, at the beginning, after it."""
    start, end = extra.start, extra.end
    if start and text[start - 1].isspace():
        start -= 1
    elif start == 0 and text[end : end + 1].isspace():
        end += 1
    return Edit(start, end, "", (0, 0))


def _meets(place: Range, one: Placeholder) -> bool:
    """Tell whether a placeholder shares a character with a place."""
    return place[0] < one.end and one.start < place[1]


def _without_split(lost: list[Placeholder], extra: Sequence[Placeholder]) -> list[Placeholder]:
    """Leave out numbers in groups that the translation has as numbers of their own, one for each group."""
    left = Counter(one.value for one in extra)
    kept = []
    for one in lost:
        groups = Counter(f"#{group}" for group in re.findall(r"\d+", one.text)) if one.is_number else Counter()
        if len(groups) > 1 and groups <= left:
            left -= groups
        else:
            kept.append(one)
    return kept
