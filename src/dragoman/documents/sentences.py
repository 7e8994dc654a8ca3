"""Where the sentences of a segment begin and end; what stands between them stays as it is."""

import re
from collections.abc import Sequence

from dragoman.documents.alignment import Range

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=(\s+)(\S))|[。！？]+[”’」』）]*|\n\s*\n|$")
_SHORT = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e|cf|approx)\.$")


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
    for found in _END.finditer(text):
        following = found[2] or ""
        if following.islower() or (found[0].startswith(".") and _SHORT.search(text, 0, found.end())):
            continue
        ends.add(found.end())
    places, start = [], 0
    for end in sorted(ends | {len(text)}):
        part = text[start:end]
        if part.strip():
            begun = start + len(part) - len(part.lstrip())
            places.append((begun, start + len(part.rstrip())))
        start = end
    return places
