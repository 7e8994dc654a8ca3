"""Draw sentence pairs with their word alignments from the grammar."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from random import Random

from dragoman.data.phrasebook import english, french, pick, vietnamese
from dragoman.data.phrasebook.enumeration import every
from dragoman.data.phrasebook.grammar import Split, draw, split_of
from dragoman.data.phrasebook.lexicon import verbs
from dragoman.data.phrasebook.syntax import Sentence
from dragoman.data.phrasebook.tokens import Token, link, write
from dragoman.errors import InputError
from dragoman.settings import nearest

LANGUAGES = ("vi", "fr")
"""Target languages; the source is English."""

_SPLITS: tuple[Split, ...] = ("train", "dev", "test", "compositional")
_SAY: dict[str, Callable[[Sentence], list[Token]]] = {"vi": vietnamese.sentence, "fr": french.sentence}
_SPACED = {"vi": "", "fr": "?!"}
_COUNTED = ("read", "drive", "wear")
_LEAST_SHARE = 40
"""Each split holds at least one derivable sentence in so many."""


@dataclass(frozen=True)
class Example:
    """A sentence pair; `links` are (source, target) positions counted by `split_words`, from 0."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]


def derive(language: str, split: Split, count: int, seed: int = 1) -> list[Example]:
    """Draw `count` pairs of a split with different English sentences; a seed gives the same English in every language.

    InputError for an unknown language or split, and for more sentences than the grammar surely has.
    """
    if language not in LANGUAGES:
        raise InputError(f"the phrasebook cannot translate into `{language}`{nearest(language, LANGUAGES)}")
    if split not in _SPLITS:
        raise InputError(f"the phrasebook has no split `{split}`{nearest(split, _SPLITS)}")
    most = derivable() // _LEAST_SHARE
    if not 0 <= count <= most:
        raise InputError(
            f"the phrasebook gives 0 to {most} pairs for {split}, not {count}; ask for a number in between"
        )
    return list(_derived(language, split, count, seed=seed))


@lru_cache(maxsize=4)
def _derived(language: str, split: Split, count: int, *, seed: int) -> tuple[Example, ...]:
    """Draw pairs; a training reads the same parts several times."""
    drawn = _draw(split, Random(seed))
    return tuple(example(sentence, language) for _, sentence in zip(range(count), drawn, strict=False))


def example(sentence: Sentence, language: str) -> Example:
    """Say a tree in English and in `language`, and align the words."""
    source, target = english.sentence(sentence), _SAY[language](sentence)
    return Example(write(source), write(target, _SPACED[language]), link(source, target))


@cache
def derivable() -> int:
    """Count English sentences such as "She reads a new book.": a lower bound, of three verbs of one pattern alone.

    Subjects and objects are enumerated from the grammar. None of them holds one of the verbs, so the verb marks where
    each begins and ends, and different subjects or objects give different sentences.
    """
    subjects = {write(english.phrase(subject, "")) for subject in every(pick.people)}
    total = 0
    for name in _COUNTED:
        things = {write(english.phrase(thing, "")) for thing in every(partial(pick.thing, chosen=verbs()[name]))}
        total += len(subjects) * len(things)
    return total


def _draw(split: Split, random: Random) -> Iterator[Sentence]:
    """Yield sentences of a split without end, none twice."""
    seen: set[str] = set()
    while True:
        sentence = draw(random)
        text = write(english.sentence(sentence))
        if text not in seen and split_of(sentence, text) == split:
            seen.add(text)
            yield sentence
