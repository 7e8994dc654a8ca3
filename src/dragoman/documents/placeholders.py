"""What a translation must hand on unchanged: format specifiers, variables, addresses, numbers, and signs that are no words, such
as the box of a form.

The model reads and writes them as words; what it lost or changed is put back by `mending.py`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dragoman.text.segments import SIGN

_SPECIFIER = r"%(?:\d{1,3}\$)?[-+#0']{0,5}(?:\d{1,9}|\*)?(?:\.(?:\d{1,9}|\*))?(?:hh?|ll?|[jztLq]|I32|I64)?"
"""The beginning of a format specifier, before its letter. Flags and digits are bounded, or a row of zeros could be both."""
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
        r"|\{\w{1,40}, ?(?:number|date|time|spellout|ordinal|duration)(?:,[^{}\n]{1,60})?\}|</?\d{1,3} ?/?>"
        r"|\[X\d{1,5}X\]",  # what Weblate writes in place of its own
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
