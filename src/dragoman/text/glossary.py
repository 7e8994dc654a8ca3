"""A glossary as a value: terms, how each is to be translated, and which of them a text contains."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

UNSPACED_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words (Thai, Lao, Burmese, Khmer, Kana, Han): each counts as a word."""
_MARKS = "".join(chr(code) for code in range(0x300, 0x1B00) if unicodedata.category(chr(code)).startswith("M"))
_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|(?:[^\W{UNSPACED_LETTERS}]|[{_MARKS}])+|[^\w\s]")
_INSIDE = re.compile(rf"[^\W{UNSPACED_LETTERS}]|[{_MARKS}]")


@dataclass(frozen=True)
class Words:
    """The words and signs of a text, as they are written and without case, and their places in it."""

    written: tuple[str, ...]
    folded: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> "Words":
        """Cut a text into words and signs, in canonical form.

        >>> Words.of("L'école, 猫").written
        ('L', "'", 'école', ',', '猫')
        """
        found = list(_WORD.finditer(text))
        written = tuple(unicodedata.normalize("NFC", one[0]) for one in found)
        return cls(written, tuple(word.casefold() for word in written), tuple(one.span() for one in found))

    def __len__(self) -> int:
        return len(self.written)

    @cached_property
    def by_word(self) -> dict[str, list[int]]:
        """Where each word is, without case."""
        found: dict[str, list[int]] = {}
        for place, word in enumerate(self.folded):
            found.setdefault(word, []).append(place)
        return found


@dataclass(frozen=True)
class Term:
    """What is looked for in texts as whole words: in any case, or exactly as it is written."""

    text: str
    any_case: bool

    @classmethod
    def of(cls, text: str) -> "Term":
        """Return a term that is found in any case if it is in lower case itself."""
        return cls(text, text == text.lower())

    @cached_property
    def words(self) -> Words:
        """Its words."""
        return Words.of(self.text)

    def stands_at(self, place: int, words: Words) -> bool:
        """Tell whether it is in a text from a word on."""
        own, others = (self.words.folded, words.folded) if self.any_case else (self.words.written, words.written)
        return others[place : place + len(own)] == own

    def is_in(self, words: Words) -> bool:
        """Tell whether it is in a text.

        >>> [Term.of(one).is_in(Words.of("L'École de  Paris")) for one in ("école de paris", "ecole", "paris", "École de paris")]
        [True, False, True, False]
        """
        first = self.words.folded[:1]
        return not first or any(self.stands_at(place, words) for place in words.by_word.get(first[0], ()))


@dataclass(frozen=True)
class Entry:
    """A term, and the terms that may translate it, the preferred one first."""

    source: Term
    targets: tuple[Term, ...]

    @classmethod
    def of(cls, source: str, targets: Sequence[str]) -> "Entry":
        """Return an entry whose terms are found in any case if they are in lower case."""
        return cls(Term.of(source), tuple(map(Term.of, targets)))

    def used(self, translation: Words) -> Term | None:
        """Return the first of its translations that is in a text; None if none is."""
        return next((one for one in self.targets if one.is_in(translation)), None)


@dataclass(frozen=True)
class Match:
    """A term of a glossary in a text, and its place there."""

    entry: Entry
    start: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Entries; of several for the same term, the first counts."""

    entries: tuple[Entry, ...]

    @classmethod
    def in_any_case(cls, terms: Mapping[str, str]) -> "Glossary":
        """Return a glossary of terms that are found in any case, however they are written."""
        return cls(tuple(Entry(Term(one, True), (Term(other, True),)) for one, other in terms.items()))

    @classmethod
    def joined(cls, glossaries: Iterable["Glossary"]) -> "Glossary":
        """Return the entries of several glossaries, of which the first goes before the second."""
        return cls(tuple(entry for one in glossaries for entry in one.entries))

    def spelled(self, normalize: Callable[[str], str]) -> "Glossary":
        """Return the glossary with translations as a model would write them."""
        return Glossary(
            tuple(
                replace(entry, targets=tuple(Term.of(normalize(target.text)) for target in entry.targets))
                for entry in self.entries
            )
        )

    @cached_property
    def _by_words(self) -> dict[tuple[str, ...], list[Entry]]:
        """The entries by the words of their terms without case, those that are sensitive to it first."""
        found: dict[tuple[str, ...], list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.source.words.folded, []).append(entry)
        for some in found.values():
            some.sort(key=lambda entry: entry.source.any_case)
        return found

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """How many words the terms have that begin with a word."""
        found: dict[str, set[int]] = {}
        for words in filter(None, self._by_words):
            found.setdefault(words[0], set()).add(len(words))
        return {word: sorted(lengths) for word, lengths in found.items()}

    def matches(self, text: str) -> list[Match]:
        """Return the terms in a text, in order; where two share a word, the one of more words, or else the first.

        >>> glossary = Glossary((Entry.of("house", ["maison"]), Entry.of("White House", ["Maison Blanche"])))
        >>> [one.entry.source.text for one in glossary.matches("A House near the White House: houses.")]
        ['house', 'White House']
        """
        words = Words.of(text)
        found = [
            (place, entry)
            for place, word in enumerate(words.folded)
            for length in self._lengths.get(word, ())
            if (entry := self._standing(place, length, words)) is not None
        ]
        free = [True] * len(words)
        chosen = []
        for place, entry in sorted(found, key=lambda one: -len(one[1].source.words)):
            end = place + len(entry.source.words)
            if all(free[place:end]):
                free[place:end] = [False] * (end - place)
                chosen.append(Match(entry, words.places[place][0], words.places[end - 1][1]))
        return sorted(chosen, key=lambda one: one.start)

    def lacking(self, text: str, translation: str) -> list[Entry]:
        """Return the entries whose terms are in a text, and whose translations are not in its translation.

        >>> [one.source.text for one in Glossary((Entry.of("house", ["maison"]),)).lacking("Red houses, a house.", "Un foyer.")]
        ['house']
        """
        words = Words.of(translation)
        found = dict.fromkeys(match.entry for match in self.matches(text))
        return [entry for entry in found if entry.used(words) is None]

    def _standing(self, place: int, length: int, words: Words) -> Entry | None:
        """Return the first entry whose term is so many words of a text from a place on."""
        some = self._by_words.get(words.folded[place : place + length], ())
        return next((entry for entry in some if entry.source.stands_at(place, words)), None)


def in_word(sign: str) -> bool:
    """Tell whether a sign is of the same word as another one beside it.

    >>> [in_word(sign) for sign in ("é", "1", "'", " ", "猫", "")]
    [True, True, False, False, False, False]
    """
    return _INSIDE.match(sign) is not None
