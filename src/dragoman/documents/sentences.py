"""Where the sentences of a segment begin and end; what stands between them stays as it is."""

import re
from collections.abc import Sequence
from itertools import pairwise

from dragoman.documents.alignment import Range
from dragoman.text.segments import segments

_BLANK_LINE = re.compile(r"\n\s*\n")


def sentences(text: str, breaks: Sequence[int] = ()) -> list[Range]:
    """Return the places of the sentences of a text, none of them blank; `breaks` end one too, unless
    a space and a small letter follow.

    >>> text = "Mr. Smith left. He said: 3.5 is\\nenough!  Why?"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Mr. Smith left.', 'He said: 3.5 is\\nenough!', 'Why?']
    """
    ends = {
        one for one in breaks if not text[one:].lstrip()[:1].islower() or not re.search(r"\s", text[one - 1 : one + 1])
    }
    ends |= {found.end() for found in _BLANK_LINE.finditer(text)}
    areas = pairwise(sorted({0, *ends, len(text)}))
    return [
        (start + one.start, start + one.end)
        for start, end in areas
        for one in segments(text[start:end], split="punctuation")
    ]


def gaps(text: str, places: Sequence[Range]) -> list[str]:
    """Return what stands before, between and after the sentences of a text.

    >>> gaps(" One.  Two.", [(1, 5), (7, 11)])
    [' ', '  ', '']
    """
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
