"""A text cut into segments to translate, of which nothing is lost: what stands between them is kept where it was.

`sentences.py` splits documents that were normalised for training; this splits what people send, and says where each sentence was.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.iso639 import base_code

Split = Literal["sentences", "punctuation", "lines", "none"]
"""Where a text is cut: at the ends of sentences and lines, of sentences only (which may go on in the next line), of lines only,
or nowhere."""

LONGEST = 1000
"""A sentence of more characters is cut: after the last comma or the like, else after the last word."""

SIGN = r"(?:[©®™•←-⇿⌀-⏿─-➿⬀-⯿🀀-🫿][\u200d\ufe0f\U000e0020-\U000e007f]*)"
"""A sign that is no word, such as an emoji, an arrow or the box of a form: few models know any."""

_AROUND = re.compile(rf"(?:\s|{SIGN})+")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CLOSING = "\"'“”’»)]}›」』）】》"
_OPENING = "\"'“‘«([{‹„¿¡「『（【《—–-"
_SIGNS = "[.!?…؟۔।॥]"
_END = re.compile(
    rf"(?<!{_SIGNS})(?P<signs>{_SIGNS}+)(?:[{re.escape(_CLOSING)}]|\s»)*(?P<space>\s++)"
    rf"[{re.escape(_OPENING)}\s]*(?=(?P<next>[^\s»]))"
    rf"|[。！？｡]+[{re.escape(_CLOSING)}]*\s*"
)
"""The end of a sentence: looked for from the first of several signs, and with all white space, so that no sign is read twice."""
_IN_WORD = re.compile(r"[\w.’'-]")
_PAUSE = re.compile(r"[;:,،؛，、；：—–]\s*")

_TITLES = {
    "en": "Mr Mrs Ms Dr Prof St Sr Rev Hon Gen Col Capt Lt Sgt Gov Sen Rep Mt Ave vs viz e.g i.e cf approx Dept",
    "fr": "M MM Mme Mlle Mmes Dr Pr Me St Ste Mgr cf c.-à-d J.-C av apr env ex tél boul p.ex",
    "de": "Dr Prof Hr Fr St z.B d.h u.a o.ä s.o s.u i.d.R v.a bzw ca vgl evtl ggf inkl exkl Mio Mrd Str Tel Ing Dipl Hrsg geb",
    "vi": "TP Tp Tx TX GS TS PGS ThS Th.S TSKH BS DS KS KTS LS CN ĐH CĐ Nxb NXB UBND Q P Đ H X tr vd VD",
}
_NUMBERED = {
    "en": "No Nos no p pp fig Fig vol Vol ch Ch sec Sec art Art Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec",
    "fr": "p pp n no vol t art fig chap janv févr avr juil sept oct nov déc",
    "de": "Nr Nrn Abs Art S Bd Abb Kap Ziff Jan Feb Aug Sept Okt Nov Dez",
    "vi": "số Số tr Tr tập Tập",
}


@dataclass(frozen=True)
class Segment:
    """A part of a text to be translated by itself, without white space and signs around it."""

    text: str
    start: int
    """Where it begins in the whole, in characters."""

    @property
    def end(self) -> int:
        """Where it ends in the whole."""
        return self.start + len(self.text)


def segments(text: str, *, language: str | None = None, split: Split = "sentences") -> list[Segment]:
    r"""Cut a text into segments, none of them empty, in their order.

    A sentence ends with ".", "!", "?", "…", "؟", "۔" or "।", closing quotes and brackets included, before white space that no
    small letter follows; "。", "！" and "？" need no space. A point ends none after an abbreviation or title of the `language`
    (English, French, German, Vietnamese; all of these if it is not known), after a capital ("J. Smith"), in German any letter
    ("z. B."), or several with points ("U.S."), after a number that begins a line ("1. First", "1.2. Second") or, in German, an
    ordinal ("3. Mai").

    >>> [one.text for one in segments("Dr. Ha left.  Why?\n\nNobody knew.")]
    ['Dr. Ha left.', 'Why?', 'Nobody knew.']
    >>> segments(" Hi.\n")
    [Segment(text='Hi.', start=1)]
    """
    if split == "none":
        return list(_stripped(text, 0, len(text)))
    areas = [(0, len(text))] if split == "punctuation" else [one.span() for one in _LINE.finditer(text)]
    found = [one for start, end in areas for one in _stripped(text, start, end)]
    if split == "lines":
        return found
    return [part for area in found for one in _sentences(text, area, language) for part in _shortened(text, one)]


def joined(text: str, parts: Sequence[Segment], translations: Sequence[str], *, between: str = "") -> str:
    """Put translations in the places of segments; everything else stays, byte for byte.

    Where nothing stood between two segments, as in Chinese, there will be `between`.

    >>> joined(" A.  B.", [Segment("A.", 1), Segment("B.", 5)], ["X.", "Y."])
    ' X.  Y.'
    """
    pieces, last = [], 0
    for number, (part, translation) in enumerate(zip(parts, translations, strict=True)):
        gap = text[last : part.start]
        pieces += [between if number and not gap else gap, translation]
        last = part.end
    return "".join([*pieces, text[last:]])


def _stripped(text: str, start: int, end: int) -> Iterator[Segment]:
    """Yield an area of a text without the white space and signs around it, if anything is left.

    >>> list(_stripped("☐ yes ★ or no 👍", 0, 15))
    [Segment(text='yes ★ or no', start=2)]
    """
    around = [one.span() for one in _AROUND.finditer(text, start, end)]
    if around and around[-1][1] == end:
        end = around[-1][0]
    if around and around[0][0] == start:
        start = around[0][1]
    if start < end:
        yield Segment(text[start:end], start)


def _sentences(text: str, area: Segment, language: str | None) -> Iterator[Segment]:
    """Yield the sentences of an area."""
    first = area.start
    for found in _END.finditer(text, area.start, area.end):
        if found["signs"] is None:
            last = found.end()
        elif _ends(text, first, found, language=language):
            last = found.end("space")
        else:
            continue
        yield from _stripped(text, first, last)
        first = last
    yield from _stripped(text, first, area.end)


def _ends(text: str, first: int, found: re.Match[str], *, language: str | None) -> bool:
    """Tell whether signs end the sentence that begins at `first`; only the word before them is read."""
    following = found["next"]
    if following.islower():
        return False
    if found["signs"] != ".":
        return True
    start = found.start()
    while start > first and _IN_WORD.match(text, start - 1):
        start -= 1
    written = text[start : found.start()]
    word = written.lstrip("-'’.")
    while start > first and text[start - 1] in _OPENING:
        start -= 1
    whole = start == first and written.strip(_OPENING) == word
    if word.replace(".", "").isdigit():
        return not (whole or (_base(language) in ("de", None) and len(word) < 3))
    if len(word) == 1 and word.isalpha() and (word.isupper() or _base(language) == "de" or whole):
        return word == "I" and not whole and _base(language) in ("en", None)
    initials = re.fullmatch(r"(?:[^\W\d]\.)+[^\W\d]", word) is not None and word != "v.v"
    if initials or not {word, word.split(".")[-1]}.isdisjoint(_listed(_TITLES, language)):
        return False
    return not (following.isdigit() and word in _listed(_NUMBERED, language))


def _listed(table: dict[str, str], language: str | None) -> set[str]:
    """Return the abbreviations of a language; of all, if it is not known."""
    base = _base(language)
    return {word for code, words in table.items() if base in (None, code) for word in words.split()}


def _base(language: str | None) -> str | None:
    """Return the language that a code names, without its region or script.

    >>> _base("en-GB"), _base("vie_Latn"), _base(None)
    ('en', 'vi', None)
    """
    return None if language is None else base_code(language)


def _shortened(text: str, sentence: Segment) -> Iterator[Segment]:
    """Yield a sentence, or its parts if it is too long."""
    first = sentence.start
    while sentence.end - first > LONGEST:
        last = _cut(text, first, first + LONGEST)
        yield from _stripped(text, first, last)
        first = last
    yield from _stripped(text, first, sentence.end)


def _cut(text: str, start: int, end: int) -> int:
    """Return where to cut a sentence that goes on after `end`."""
    half = start + (end - start) // 2
    for sign in (_PAUSE, re.compile(r"\s+")):
        places = [one.end() for one in sign.finditer(text, half, end) if one.end() < end]
        if places:
            return places[-1]
    while end > half and unicodedata.category(text[end]).startswith("M"):
        end -= 1
    return end
