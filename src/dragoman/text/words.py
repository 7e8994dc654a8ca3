"""Words and characters as tokens."""

import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from dragoman.errors import TextError
from dragoman.text.settings import CharactersSettings, WordsSettings
from dragoman.text.vocabulary import SPECIAL, Vocabulary

JOINER = "￭"
"""On the side of a punctuation mark that has no space; `normalize` leaves none in text."""

SPACE = "▁"
"""A space, as a token or part of one; `normalize` leaves none in text."""


class Words:
    """Words and punctuation marks as tokens; a mark records on which sides it touches its neighbours."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """Return the ids of the words of normalised `text`."""
        return [self.vocabulary.id(piece) for piece in self.split(text)]

    def split(self, text: str) -> list[str]:
        """Return the words of normalised `text`, unknown ones too."""
        return split_words(text)

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Return `encode(text)`: words have only one segmentation."""
        return self.encode(text)

    def surfaces(self, pieces: Sequence[str]) -> list[str]:
        """Return the text of each token, including spaces."""
        return join_words(pieces)


class Characters:
    """Characters as tokens."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """Return the ids of the characters of normalised `text`."""
        return [self.vocabulary.id(piece) for piece in self.split(text)]

    def split(self, text: str) -> list[str]:
        """Return the characters of normalised `text`, unknown ones too."""
        return list(text.replace(" ", SPACE))

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Return `encode(text)`: characters have only one segmentation."""
        return self.encode(text)

    def surfaces(self, pieces: Sequence[str]) -> list[str]:
        """Return the text of each token, including spaces."""
        return [piece.replace(SPACE, " ") for piece in pieces]


def split_words(text: str) -> list[str]:
    """Split normalised text into words and single punctuation marks, from which `join_words` makes the same text.

    >>> split_words('He said: "don\\'t (yet)"')
    ['He', 'said', '￭:', '"￭', 'don', "￭'￭", 't', '(￭', 'yet', '￭)', '￭"']
    """
    return [piece for chunk in text.split() for piece in _split_chunk(chunk)]


def join_words(pieces: Sequence[str]) -> list[str]:
    """Return the text of each token, preceded by a space unless it touches the previous token.

    >>> "".join(join_words(["(￭", "yet", "￭)", "now"]))
    ' (yet) now'
    """
    surfaces = []
    touching = False
    for piece in pieces:
        spelling = piece.strip(JOINER)
        surfaces.append(spelling if touching or piece.startswith(JOINER) else " " + spelling)
        touching = piece.endswith(JOINER)
    return surfaces


def learn_words(texts: Iterable[str], settings: WordsSettings, tags: Sequence[str] = ()) -> Words:
    """Build a vocabulary of frequent words, after the tokens that `unknown` needs and `tags`."""
    counts = Counter(piece for text in texts for piece in split_words(text))
    return Words(Vocabulary(_frequent(counts, settings, [*settings.positional, *tags])))


def learn_characters(texts: Iterable[str], settings: CharactersSettings, tags: Sequence[str] = ()) -> Characters:
    """Build a vocabulary of frequent characters, after `tags`."""
    counts = Counter(piece for text in texts for piece in text.replace(" ", SPACE))
    return Characters(Vocabulary(_frequent(counts, settings, tags)))


def _frequent(counts: Counter[str], settings: WordsSettings | CharactersSettings, before: Sequence[str]) -> list[str]:
    """Return the tokens `before`, then the frequent ones, the most frequent first; at most `size` with the special ones."""
    minimum, size = settings.minimum_count, settings.size
    if not counts:
        raise TextError("there is no text to learn a vocabulary from; are the training files empty?")
    kept = sorted((piece for piece, count in counts.items() if count >= minimum), key=lambda p: (-counts[p], p))
    if not kept:
        raise TextError(f"no token of the text occurs {minimum} times; set text.minimum_count to 1")
    room = len(kept) if size is None else size - len(SPECIAL) - len(before)
    if room < 1:
        raise TextError(
            f"text.size is {size}, but {len(SPECIAL) + len(before)} tokens come before the first of the text; set at least "
            f"{len(SPECIAL) + len(before) + 1}"
        )
    return [*before, *kept[:room]]


@lru_cache(maxsize=1 << 16)
def _split_chunk(chunk: str) -> tuple[str, ...]:
    """Split text without spaces; at each boundary one of the marks next to it carries the joiner."""
    pieces: list[str] = []
    inside = False
    for character in chunk:
        is_letter = character.isalnum() or unicodedata.category(character).startswith("M")
        if is_letter and inside:
            pieces[-1] += character
        elif is_letter and pieces:
            pieces[-1] += JOINER
            pieces.append(character)
        else:
            pieces.append(JOINER + character if pieces else character)
        inside = is_letter
    return tuple(pieces)


def word_numbers(surfaces: Sequence[str]) -> list[int]:
    """Return for each surface the number of the word that its first sign belongs to.

    >>> word_numbers([" Hel", "lo", ",", " ", "wor", "ld"])
    [0, 0, 0, 1, 1, 1]
    """
    owners = []
    words, in_word = 0, False
    for surface in surfaces:
        starts = surface[:1].isspace() or not in_word
        owners.append(words if starts else words - 1)
        if surface:
            words += len(surface.split()) - (in_word and not surface[0].isspace())
            in_word = not surface[-1].isspace()
    return owners
