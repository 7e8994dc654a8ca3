"""Terms in a training source, drawn at random, with the words of the target to which word alignments link them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dragoman.data.links import WordLinks
from dragoman.text.annotations import Annotation, annotation
from dragoman.text.codec import Codec
from dragoman.text.glossary import Words, in_word

LONGEST = 4
"""Most words of a term, and of its translation, between spaces."""
MOST_WORDS = 8
"""Most words of either as a glossary counts them, at apostrophes and, of scripts without spaces, at each letter."""
OFTEN = 0.3
"""Largest chance that a word begins a term; that of a sentence is drawn from 0 to it."""
ARTICLE, NOUN = 2, 3
"""Most letters of what is left out before an apostrophe, as in `l'eau`, and least letters of the word after it."""


@dataclass(frozen=True)
class Phrase:
    """Words of a source, and those of its target that translate them and nothing else."""

    source: range
    target: range


def phrases(links: WordLinks) -> dict[int, list[Phrase]]:
    """Return the phrases by their first source word: each has words that link to one another alone, and its target no others.

    >>> import numpy as np
    >>> found = phrases(np.int32([[0, 1], [1, 0], [2, 2], [2, 3]]))
    >>> [(one.source, one.target) for one in found[2]]
    [(range(2, 3), range(2, 4))]
    """
    targets, sources = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for i, j in links.tolist():
        targets[i].add(j)
        sources[j].add(i)
    found = defaultdict[int, list[Phrase]](list)
    for first in sorted(targets):
        for last in range(first, first + LONGEST):
            own = set[int]().union(*(targets.get(word, ()) for word in range(first, last + 1)))
            whole = len(own) == max(own) - min(own) + 1 <= LONGEST
            back = set[int]().union(*(sources[word] for word in own))
            if last in targets and whole and min(back) >= first and max(back) <= last:
                found[first].append(Phrase(range(first, last + 1), range(min(own), max(own) + 1)))
    return dict(found)


def drawn(known: Mapping[int, Sequence[Phrase]], rng: Random) -> list[Phrase]:
    """Draw at least one phrase, if there is any, of which no two share a source word."""
    chance, found, free = rng.uniform(0, OFTEN), list[Phrase](), 0
    for first, some in known.items():
        if first >= free and rng.random() < chance:
            found.append(rng.choice(some[: rng.randint(1, len(some))]))
            free = found[-1].source.stop
    return found or ([rng.choice([*known.values()][rng.randrange(len(known))])] if known else [])


def annotations(
    codecs: tuple[Codec, Codec], texts: tuple[str, str], links: WordLinks, *, rng: Random
) -> list[Annotation]:
    """Draw terms of a pair and return them with their translations, as the target has them."""
    source, target = (codec.words(text) for codec, text in zip(codecs, texts, strict=True))
    found = []
    for one in drawn(phrases(links), rng):
        term = core(source[one.source.start : one.source.stop])
        translation = core(target[one.target.start : one.target.stop], bare=True)
        if term is None or translation is None:
            continue
        if one.target.start == 0 and translation[1:].islower():
            translation = translation[:1].lower() + translation[1:]
        text = " ".join(source)
        start = text.index(term, sum(len(word) + 1 for word in source[: one.source.start]))
        found.append(annotation(codecs[0], text, (start, start + len(term)), translation=translation))
    return [one for one in found if one is not None]


def core(words: Sequence[str], *, bare: bool = False) -> str | None:
    """Return words without the punctuation around them; None if there is some between them, or nothing else.

    With `bare`, an article or the like before an apostrophe is left out too, since glossaries have none.

    >>> core(["«l'école", "primaire»,"], bare=True), core(["oui,", "merci"]), core(["..."])
    ('école primaire', None, None)
    """
    text = " ".join(words)
    parts = Words.of(text)
    real = [place for word, place in zip(parts.written, parts.places, strict=True) if _is_word(word[0])]
    if not real or len(parts) > MOST_WORDS:
        return None
    start, end = real[0][0], real[-1][1]
    if bare and len(real) > 1 and text[real[0][1] : real[1][0]] in ("'", "’"):
        left, right = (last - first for first, last in real[:2])
        start = real[1][0] if left <= ARTICLE and right >= NOUN else start
    inside = text[start:end]
    beside = (sign for at, one in enumerate(inside) if one == " " for sign in (inside[at - 1], inside[at + 1]))
    return inside if all(map(_is_word, beside)) else None


def _is_word(sign: str) -> bool:
    """Tell whether a sign is part of a word."""
    return in_word(sign) or sign.isalnum()
