"""Capitals at the starts of sentences as tokens of their own, so that `The` and `the` are one word to the model.

Inline casing (Bérard et al. 2019, "Naver Labs Europe's systems for the WMT19 machine translation robustness task", on
pre-processing) writes each word in lower case and its case as a token. Deviation: only words that begin a sentence change, the
token stands before the word, and a word that is usually written with a capital keeps it, as in truecasing (Lita et al. 2003).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman.text.vocabulary import SPECIAL

CAPITAL = "￭"
"""Stands, as a word of its own, before a word that has lost its capital; `normalize` leaves none in text."""

_INITIAL = re.compile(r"(?:^|[.!?…][\"'”’»)\]]* )(?:[^\w\s]+ ){0,4}(?P<opening>[^\w\s]*)(?P<word>[^\W\d_]\w*)")
"""The first word of a text or of a sentence in it; signs may stand before it, with spaces or without."""
_WORD = re.compile(r"[^\W\d_]\w*")

Lowers = Callable[[str], bool]
"""Tells whether a word is usually in lower case."""


def lowered(word: str) -> str | None:
    """Return a word without its capital; None if it has none, has others too, or would not get the same one back.

    >>> lowered("The"), lowered("the"), lowered("USA"), lowered("ß")
    ('the', None, None, None)
    """
    first, rest = word[:1], word[1:]
    small = first.lower()
    gets_back = len(small) == 1 and small != first and small.upper() == first
    return small + rest if gets_back and rest == rest.lower() else None


def marked(text: str, lowers: Lowers) -> str:
    """Return normalised text in which words that begin sentences are in lower case after `CAPITAL`, if they usually are.

    >>> marked('"Come here. Tom!" He left.', lambda word: word != "Tom").replace(CAPITAL, "^")
    '^ "come here. Tom!" ^ he left.'
    """

    def mark(match: re.Match[str]) -> str:
        small = lowered(match["word"])
        if small is None or not lowers(match["word"]):
            return match[0]
        before = match[0][: match.start("opening") - match.start()]
        return f"{before}{CAPITAL} {match['opening']}{small}"

    return _INITIAL.sub(mark, text)


def marked_by_counts(texts: Iterable[str]) -> Iterator[str]:
    """Yield normalised texts, marked where a word has not been seen with a capital inside a sentence more often than without.

    What counts is what was read so far, so that texts are read once. The capitals come last, so that no sign is lost.
    """
    seen, capitals = Counter[str](), set[str]()

    def lowers(word: str) -> bool:
        usual = seen[word[:1].lower() + word[1:]] >= seen[word]
        capitals.update(word[:1] if usual else "")
        return usual

    for text in texts:
        initial = {match.start("word") for match in _INITIAL.finditer(text)}
        seen.update(match[0] for match in _WORD.finditer(text) if match.start() not in initial)
        yield marked(text, lowers)
    if capitals:
        yield " ".join(sorted(capitals))


def restored(pieces: Sequence[str], space: str) -> list[str]:
    """Return the text of each token, with spaces and capitals; `space` is how tokens write a space.

    >>> restored(["_" + CAPITAL, '_"', "come", "_he", "re"], "_")
    [' ', '"', 'Come', ' he', 're']
    """
    found, pending, alone = list[str](), False, False
    for piece in pieces:
        surface = piece.replace(space, " ")
        if CAPITAL in surface:
            surface, pending, alone = surface.replace(CAPITAL, ""), True, True
        elif pending:
            surface = surface.removeprefix(" ") if alone else surface
            alone = False
            at = next((at for at, sign in enumerate(surface) if sign.isalpha()), None)
            if at is not None:
                pending = False
                if piece not in SPECIAL:
                    surface = surface[:at] + surface[at].upper() + surface[at + 1 :]
        found.append(surface)
    return found
