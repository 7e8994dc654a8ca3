"""Words of a sentence, what they mean, and how they are written down and split again."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_WORD = re.compile(r"(?:[ljdnmtsc]|qu)['’](?=\w)|[^\s.,?!]+|[.,?!]", re.IGNORECASE)


class Token(NamedTuple):
    """One word and the meanings it carries; words of two languages that share a meaning are aligned."""

    text: str
    meanings: tuple[str, ...]


def words(text: str, *meanings: str) -> list[Token]:
    """Return the words of `text`, all with the same meanings."""
    return [Token(word, meanings) for word in text.split()]


def split_words(text: str) -> list[str]:
    """Split a sentence into the words that alignment links count.

    Punctuation stands alone, a French elision ends at its apostrophe, an English contraction stays whole.

    >>> split_words("Je n'aime pas l'été.")
    ['Je', "n'", 'aime', 'pas', "l'", 'été', '.']
    >>> split_words("I don't see Anna's cat!")
    ['I', "don't", 'see', "Anna's", 'cat', '!']
    """
    return _WORD.findall(text)


def write(tokens: Iterable[Token], spaced: str = "") -> str:
    """Write words as a person does; punctuation in `spaced` has a space before it, as in French.

    >>> write([*words("qu' est-ce que c' est"), *words("?")], spaced="?!")
    "Qu'est-ce que c'est ?"
    """
    text = ""
    for word, _ in tokens:
        if text and not text.endswith("'") and (word not in (".", ",", "?", "!") or word in spaced):
            text += " "
        text += word
    return text[:1].upper() + text[1:]


def link(source: list[Token], target: list[Token]) -> tuple[tuple[int, int], ...]:
    """Pair the positions of words that share a meaning.

    >>> link(words("not", "no"), [*words("ne", "no"), *words("va", "go"), *words("pas", "no")])
    ((0, 0), (0, 2))
    """
    carriers: dict[str, list[int]] = {}
    for position, token in enumerate(target):
        for meaning in token.meanings:
            carriers.setdefault(meaning, []).append(position)
    return tuple(
        sorted(
            {
                (left, right)
                for left, token in enumerate(source)
                for m in token.meanings
                for right in carriers.get(m, ())
            }
        )
    )
