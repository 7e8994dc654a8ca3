"""The patterns, what each sentence combines, and the split that follows from it."""

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Literal

from dragoman.data.phrasebook import questions, statements, states
from dragoman.data.phrasebook.lexicon import Noun
from dragoman.data.phrasebook.syntax import (
    Action,
    Clause,
    Complement,
    Compound,
    Existence,
    Phrase,
    Predicate,
    Presentation,
    Quality,
    Sentence,
)

Split = Literal["train", "dev", "test", "compositional"]

_HELD_OUT = 16
"""One combination of words in so many is kept for the compositional test."""

_PARTS = 20
"""One other sentence in so many goes to dev, and one to test."""


_OFTEN = (
    *(statements.does, statements.did, statements.will_do, statements.is_doing, statements.does_not, statements.has),
    *(statements.likes, states.is_some_way, states.is_very, states.this_is, states.there_is, states.is_more),
) * 3
"""Patterns that show the most words, drawn more often than others."""


@cache
def patterns() -> dict[str, Callable[[Random], Sentence]]:
    """Return every sentence pattern by its name."""
    return {found.__name__: found for found in (*statements.PATTERNS, *states.PATTERNS, *questions.PATTERNS)}


def draw(random: Random) -> Sentence:
    """Draw a sentence of any pattern."""
    return random.choice(_weighted())(random)


def split_of(sentence: Sentence, english: str) -> Split:
    """Tell which split a sentence belongs to, from what it combines and how it reads in English, for ever the same."""
    if any(held_out(pair) for pair in combinations(sentence)):
        return "compositional"
    part = _digest(english) % _PARTS
    return "dev" if part == 0 else "test" if part == 1 else "train"


@cache
def held_out(combination: str) -> bool:
    """Tell whether a combination such as "red shoe" or "read letter" is kept out of all splits but compositional."""
    return _digest(combination) % _HELD_OUT == 0


def combinations(node: Sentence) -> Iterator[str]:
    """Yield each adjective with the noun it qualifies and each verb with the noun it acts on, as base forms."""
    match node:
        case Clause():
            yield from _in_clause(node)
        case Compound():
            yield from _in_clause(node.first)
            yield from _in_clause(node.second)
        case Existence():
            yield from _in_phrase(node.phrase)
            yield from _in_phrase(node.place.phrase)
        case Presentation():
            yield from _in_phrase(node.phrase)


@cache
def _weighted() -> tuple[Callable[[Random], Sentence], ...]:
    return (*patterns().values(), *_OFTEN)


def _in_clause(node: Clause) -> Iterator[str]:
    yield from _in_phrase(node.subject)
    yield from _in_predicate(node.predicate, node.subject)
    for complement in node.complements:
        if isinstance(complement, Complement):
            yield from _in_phrase(complement.phrase)


def _in_predicate(node: Predicate, subject: Phrase) -> Iterator[str]:
    match node:
        case Action(verb, Phrase() as thing):
            if isinstance(thing.head, Noun):
                yield f"{verb.english} {thing.head.english}"
            yield from _in_phrase(thing)
        case Quality(adjective, _, than):
            if isinstance(subject.head, Noun):
                yield f"{adjective.english} {subject.head.english}"
            if than is not None:
                yield f"{adjective.english} {than.head.english}"


def _in_phrase(node: Phrase) -> Iterator[str]:
    if node.adjective is not None:
        yield f"{node.adjective.english} {node.head.english}"
    for inner in (node.owner, node.partner):
        if inner is not None:
            yield from _in_phrase(inner)
    if node.relative is not None:
        yield from _in_predicate(node.relative, node)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
