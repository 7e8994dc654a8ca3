"""What the words of a sentence and of its translation show without a model. Does not import torch."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from dragoman.text.glossary import UNSPACED_LETTERS

SPELLED_OUT = 12
"""Numbers up to this one are often written as words, so they are not missed."""
CONTENT = 4
"""Minimum letters of a word that is expected to appear once where its source has it once; shorter ones are mostly grammar."""
ALIKE = 4
"""Names that begin with as many equal letters count as the same: many languages inflect them."""
LONGEST_REPEAT = 4
"""Longest n-gram whose repetitions are counted."""
SHOUTED = 3
"""Minimum words of a text in capitals."""
GROUP = 3
"""Digits between the separators of thousands."""
TITLES = frozenset(["mr", "mrs", "ms", "dr"])
"""English titles; a full stop after one ends no sentence."""
TRANSLATED = TITLES | {
    *("i", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
}
"""Words that English writes with a capital and that other languages translate, so that none of them is a name that is missed."""

_ALONE = re.compile(f"[{UNSPACED_LETTERS}]")
_UNIT = re.compile(f"[{UNSPACED_LETTERS}]|[^{UNSPACED_LETTERS}]+")
_NUMBER = re.compile("\\d+(?:[.,:'’\u00a0\u202f\u066b\u066c]\\d+)*")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")
_IN_PARTS = re.compile(r"\d+(?::\d+)+|\d{1,2}\.\d{1,2}\.\d{2,4}")
"""A time, score or date, whose parts a translation may write apart: 14:30 is 14h30 in French."""
_STEMS = "thousand|million|billion|trillion|milliard|tausend|mill[oó]n|miliard|milion|тысяч|миллион|миллиард"
_UNITS = "k|bn|mio|mrd|mil|mila|mille|nghìn|ngàn|triệu|tỷ|tỉ|vạn|тыс|млн|млрд"
_SCALE = re.compile(rf"[ \u00a0\u202f-]?(?:(?:{_STEMS})\w*|(?:{_UNITS})\b|[千万萬億亿兆천만억])", re.IGNORECASE)
"""What makes thousands or millions of the number before it."""
_DECIMALS = re.compile(r"(.*\d)[.,](\d{1,2})")
_STUTTER = re.compile(r"([^\d\s]{1,4}?)\1{5,}")
_STROKES = str.maketrans("đðłøħŧı", "ddlohti")
"""Letters that Unicode does not divide into a letter and an accent."""
_SENTENCE_END = re.compile(r"[.!?:;…\"„“”«»()–—-]$")


def bare(word: str) -> str:
    """Return a word in lower case, without accents and without what is neither letter nor digit.

    >>> bare("«École!"), bare("Đặng")
    ('ecole', 'dang')
    """
    letters = unicodedata.normalize("NFKD", word.casefold()).translate(_STROKES)
    return "".join(sign for sign in letters if sign.isalnum())


def _spelled(word: str) -> str:
    """Return a word in lower case, with its accents, which tell words apart, and without other signs.

    >>> _spelled("Tới!") == _spelled("tôi")
    False
    """
    letters = unicodedata.normalize("NFC", word.casefold())
    return "".join(sign for sign in letters if sign.isalnum() or unicodedata.combining(sign))


def repetition(source: Sequence[str], target: Sequence[str]) -> float:
    """Return the share of the translation that repeats itself more than the source does.

    For n-grams of one word (of at least four letters) to four words: how much more often than once, and than the most frequent
    one of the source, the most frequent one of the translation occurs, times its length, over the words of the
    translation. Of longer n-grams, as in a sentence that is said twice, one repetition counts, if the source repeats none half
    as long, and so do letters and signs that a word repeats. The largest share counts. Raunak et al. 2021 count 4-grams
    alone. Letters of scripts without spaces are words here.

    >>> repetition("wir sehen das Haus".split(), "we see see see the house".split())
    0.333...
    >>> repetition("Tag für Tag".split(), "day by day".split())
    0.0
    >>> repetition(["Hallo,", "Emma!"], ["Hello,,,,,,,,,,,,", "Emma!"])
    0.545...
    """
    stuttered = (_stuttered(target) - _stuttered(source)) / max(sum(map(len, target)), 1)
    source, target = [_spelled(word) for word in source], [_spelled(word) for word in target]
    said, given = _units(target), _units(source)
    shares = [0.0, stuttered]
    for order in range(1, LONGEST_REPEAT + 1):
        extra = _most(said, order) - max(1, _most(given, order))
        shares.append(extra * order / max(len(said), 1))
    for order in _longer_orders(len(said)):
        if _most(said, order) > max(1, _most(given, min(order // 2, LONGEST_REPEAT))):
            shares.append(order / len(said))
    doubled = _doubled(target) - _doubled(source)
    return max(*shares, doubled / max(len(target), 1))


def copied(source: Sequence[str], target: Sequence[str]) -> float:
    """Return the share of the translation's letters that are in words copied from the source; 0 if it has none.

    Words that a name may be, those with a capital in both texts or inside, and those with a digit are left out; of text in
    capitals only those with a digit.

    >>> copied("das ist ein Haus".split(), "das ist a house".split()), copied("Tom mag Eva".split(), "Tom likes Eva".split())
    (0.5, 0.0)
    """
    known, shouted = {bare(word) for word in source}, in_capitals(target)
    names = set() if shouted else {bare(word) for word in source if _begins_with_capital(word)}
    letters = same = 0
    for word in target:
        one = bare(word)
        named = _begins_with_capital(word) and one in names
        if named or looks_like_a_name(word.lower() if shouted else word) or any(map(str.isdigit, one)):
            continue
        letters += len(one)
        same += len(one) if one in known else 0
    return same / letters if letters else 0.0


def numbers(words: Iterable[str]) -> list[str]:
    """Return the numbers of a text that a translation keeps as digits, in any script; small ones are often spelled out.

    >>> numbers("On 3 May 1998 at 14:30 it cost 1,200.50 euros".split())
    ['1998', '1430', '120050']
    """
    return [digits for digits in map(_digits, _NUMBER.findall(" ".join(words))) if _is_large(digits)]


def lost_numbers(source: Sequence[str], target: Sequence[str]) -> list[str]:
    """Return the words of the source with a number that the translation does not have; spaces may group its thousands.

    The parts of a time, score or date may be apart, and thousands, millions and so on may be written out or in other units.

    >>> lost_numbers("im Jahr 1998 um 3".split(), "in the year".split())
    ['1998']
    >>> lost_numbers("cost 12,000 and 345 000".split(), "coûté 12 000 et 345.000".split())
    []
    >>> lost_numbers("at 14:30 or 06:00".split(), "lúc 14 giờ 30 hoặc 6 giờ".split())
    []
    >>> lost_numbers("15 million of 930,000".split(), "930 nghìn 1500万".split())
    []
    """
    known, groups = _Known.of(source, target), _grouped(source)
    return [word for place, word in enumerate(source) if _is_lost(word, groups.get(place), known)]


@dataclass(frozen=True)
class _Known:
    """The numbers of a translation."""

    numbers: frozenset[str]
    """Their digits, and those of the parts of times, scores and dates."""
    scaled: frozenset[str]
    """The digits, without zeros around them, of thousands, millions and so on that the source has too; one side has a unit."""

    @classmethod
    def of(cls, source: Sequence[str], target: Sequence[str]) -> "_Known":
        """Collect them."""
        (counted, written), (given, spelled) = _thousands(target), _thousands(source)
        values = filter(_is_large, map(_value, _NUMBER.findall(" ".join(target))))
        every = frozenset([*numbers(target), *values, *_grouped(target).values(), *_parts(target)])
        return cls(every, frozenset(counted & (given | spelled) | given & written))

    def has(self, digits: str) -> bool:
        """Tell whether a number is among them."""
        return digits in self.numbers or _significant(digits) in self.scaled


def _is_lost(word: str, group: str | None, known: _Known) -> bool:
    """Tell whether a word has a number, or is part of one in `group`, that is not known."""
    if group is None:
        return not all(_is_kept(number, known) for number in _NUMBER.findall(word))
    return not known.has(group) and _digits(word) not in known.numbers


def _is_kept(number: str, known: _Known) -> bool:
    """Tell whether a number is known as a whole or by its parts, or too small to be missed."""
    in_parts = _IN_PARTS.fullmatch(number) is not None and known.numbers.issuperset(_parts([number]))
    return in_parts or known.has(_digits(number)) or known.has(_value(number)) or not _is_large(_value(number))


def _thousands(words: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the digits, without zeros around them, of numbers before a unit such as a million, and of numbers above 999.

    >>> [sorted(some) for some in _thousands("0.5 million von 1.200 Tausend, 1500万; 20 or 6000, 70 000".split())]
    [['12', '15', '5'], ['6', '7']]
    """
    text, counted, written = " ".join(words), set[str](), set[str]()
    for number in (*_NUMBER.finditer(text), *_THOUSANDS.finditer(text)):
        if _SCALE.match(text, number.end()):
            counted.add(_significant(number[0]))
        elif len(_digits(number[0])) > GROUP:
            written.add(_significant(number[0]))
    return counted, written


def _significant(number: str) -> str:
    """Return the digits of a number without the zeros around them."""
    return _digits(number).strip("0")


def _parts(words: Iterable[str]) -> list[str]:
    """Return the numbers of which the times, scores and dates of a text consist.

    >>> _parts(["08:17", "20.11.2023", "1.200"])
    ['17', '20', '2023']
    """
    whole = (number for number in _NUMBER.findall(" ".join(words)) if _IN_PARTS.fullmatch(number))
    return numbers(re.sub("[:.]", " ", number) for number in whole)


def looks_like_a_name(word: str) -> bool:
    """Tell whether a word has a capital after its first letter, or a digit: names that no language translates.

    >>> [looks_like_a_name(word) for word in ("NATO", "McDonald", "B2", "Haus", "A", "I'm")]
    [True, True, True, False, False, False]
    """
    letters = "".join(sign for sign in word if sign.isalnum())
    return any(sign.isupper() for sign in letters[1:]) or (
        any(sign.isdigit() for sign in letters) and any(sign.isalpha() for sign in letters)
    )


def in_capitals(words: Sequence[str]) -> bool:
    """Tell whether a text is written in capitals, as headings are, so that they are no sign of a name; two words may be names.

    >>> in_capitals("THE END (PART 2)".split()), in_capitals(["NATO,", "EU"]), in_capitals("NATO 和 EU 的 FBI".split())
    (True, False, False)
    """
    spelled = [word for word in words if any(map(str.isalpha, word))]
    return len(spelled) >= SHOUTED and all(word == word.upper() != word.lower() for word in spelled)


def capitalised(words: Sequence[str]) -> list[str]:
    """Return the words with a capital that is not due to the start of a sentence, to English spelling or to a text in capitals.

    >>> capitalised("Yesterday Anna said: She knows the NATO.".split())
    ['Anna', 'NATO.']
    >>> capitalised("then I'm with Anna's sister on Saturday's ferry".split())
    ["Anna's"]
    """
    if in_capitals(words):
        return [word for word in words if looks_like_a_name(word.lower())]
    starts = [True, *(bool(_SENTENCE_END.search(word)) and bare(word) not in TITLES for word in words)]
    return [
        word
        for word, first in zip(words, starts, strict=False)
        if looks_like_a_name(word) or (not first and _begins_with_capital(word) and _may_be_a_name(word))
    ]


def unmatched(words: Iterable[str], others: Sequence[str]) -> list[str]:
    """Return the words with no similar one among the others: equal, contained, or with the same first four letters.

    >>> unmatched(["Londons", "Paris"], ["in", "Londýn"])
    ['Paris']
    """
    known = [bare(other) for other in others]
    joined = " ".join(known)
    begun = {other[:ALIKE] for other in known if len(other) >= ALIKE}
    longer = {other for other in known if len(other) > ALIKE}
    sizes = {len(other) for other in longer}

    def is_known(one: str) -> bool:
        return one[:ALIKE] in begun or one in joined or _contains(one, longer, sizes)

    return [word for word in words if not is_known(bare(word))]


def _begins_with_capital(word: str) -> bool:
    """Tell whether the first letter of a word is a capital."""
    return word.lstrip("(\"'„“«")[:1].isupper()


def _may_be_a_name(word: str) -> bool:
    """Tell whether a word with a capital may be a name: it has two letters, and English does not only spell it so."""
    stem = re.split("['’]", word.lstrip("(\"'„“«"), maxsplit=1)[0]
    return len(bare(word)) > 1 and bare(stem) not in TRANSLATED


def _digits(number: str) -> str:
    """Return the digits of a number as 0 to 9, without separators.

    >>> _digits("١٩٩٨"), _digits("1,200")
    ('1998', '1200')
    """
    return "".join(str(unicodedata.decimal(sign)) for sign in number if sign.isdecimal())


def _value(number: str) -> str:
    """Return the digits of a number, of its one or two decimals without zeros at the end.

    >>> [_value(number) for number in ("2.0", "2,50", "1,000.00", "1,200")]
    ['2', '25', '1000', '1200']
    """
    found = _DECIMALS.fullmatch(number)
    return _digits(found[1]) + _digits(found[2]).rstrip("0") if found else _digits(number)


def _is_large(digits: str) -> bool:
    """Tell whether a number is larger than those that are often written as words; it may have any length."""
    found = digits.lstrip("0")
    return len(found) > len(str(SPELLED_OUT)) or (found != "" and int(found) > SPELLED_OUT)


def _grouped(words: Sequence[str]) -> dict[int, str]:
    """Return the digits of each number whose thousands are apart, by the places of all of its words.

    >>> _grouped("it cost 12 000 euros".split())
    {2: '12000', 3: '12000'}
    """
    found: dict[int, str] = {}
    text = " ".join(words)
    for number in _THOUSANDS.finditer(text):
        first = text.count(" ", 0, number.start())
        found |= dict.fromkeys(range(first, first + 1 + number[0].count(" ")), _digits(number[0]))
    return found


def _contains(one: str, others: AbstractSet[str], sizes: Iterable[int]) -> bool:
    """Tell whether a word contains one of others, which have these sizes.

    >>> _contains("marianna", {"maria", "anne"}, {4, 5}), _contains("mary", {"maria"}, {5})
    (True, False)
    """
    return any(one[at : at + size] in others for size in sizes for at in range(len(one) - size + 1))


def _units(words: Iterable[str]) -> list[str]:
    """Return words, and of scripts without spaces between them each letter."""
    return [unit for word in words for unit in _UNIT.findall(word) or [word]]


def _most(words: Sequence[str], order: int) -> int:
    """Return how often the most frequent n-gram occurs.

    A single word counts if it is long enough to mean something, and so do letters of scripts without spaces: many of their words
    double a syllable.
    """
    grams = [tuple(words[at : at + order]) for at in range(len(words) - order + 1)]
    counts = Counter(
        gram
        for gram in grams
        if len("".join(gram)) >= CONTENT or (order > 1 and not all(_ALONE.fullmatch(word) for word in gram))
    )
    return max(counts.values(), default=0)


def _longer_orders(words: int) -> list[int]:
    """Return lengths of n-grams that may be half of a text, so close that one is at least two thirds of whatever is said twice.

    >>> _longer_orders(40)
    [6, 8, 12, 16]
    """
    orders = (step << power for power in range(1, words.bit_length()) for step in (3, 4))
    return [order for order in orders if order <= words // 2]


def _stuttered(words: Iterable[str]) -> int:
    """Return the number of letters and signs in words that repeat up to four of them at least five times.

    >>> _stuttered(["hahahahahahaha!", "Oh,,,,,,,", "1000000"])
    21
    """
    return sum(len(found[0]) for word in words for found in _STUTTER.finditer(word))


def _doubled(words: Sequence[str]) -> int:
    """Count the words that follow themselves at once."""
    return sum(one == other != "" for one, other in pairwise(words))
