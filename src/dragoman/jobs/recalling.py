"""Translate with a translation memory: sentences that it has are taken from it, and others are kept in it.

What a model has translated is taken only if it has the terms of the glossary, if there is one, as this may be newer. Translations
of others may begin as that of a similar sentence there, as far as both sentences begin with the same words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from dragoman.data.directions import Languages
from dragoman.documents.memories import Memory, Near, Recalled, beginning
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap
from dragoman.inference.terms import outcome
from dragoman.inference.translation import Translation, UsedTerm
from dragoman.jobs.translate_document import SentenceTranslator
from dragoman.text.frames import Between
from dragoman.text.glossary import Glossary, Words

NO_TERMS = Glossary(())


class ReadingTranslator(SentenceTranslator, Protocol):
    """A translator that can also show where it would look while it writes a given translation, and complete one."""

    def complete(
        self,
        sentences: Sequence[str],
        prefixes: Sequence[str],
        *,
        attention: bool,
        previous: Sequence[Sequence[str]] | None,
        to: Languages,
        **options: Any,
    ) -> list[Translation]:
        """Translate sentences with translations that begin with the words of `prefixes`."""

    def attention_maps(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        previous: Sequence[Sequence[str]] | None = None,
        to: Languages = None,
    ) -> list[AttentionMap]:
        """Return the attention for each pair."""


class RecallingTranslator:
    """A translator with a memory. All that is not about translating is that of the translator itself."""

    def __init__(
        self,
        translator: ReadingTranslator,
        memory: Memory,
        *,
        offers: bool = False,
        near: float | None = None,
        glossary: Glossary = NO_TERMS,
    ) -> None:
        """Take a translator, its memory and its glossary; with `offers`, translations come with what is similar in the memory.

        With `near`, those begin like that of the most similar sentence, if it is at least so similar: from NEAR to 1.
        """
        self._translator, self._memory, self._offers, self._near = translator, memory, offers, near
        self._glossary = glossary
        self.sentences = 0
        """Number of sentences so far."""
        self.hits = 0
        """Number of those whose translation was in the memory."""
        self.unconfirmed = 0
        """Number of those that a model, perhaps an older one, had translated."""
        self.begun = 0
        """Number of those whose translation was made to begin with words from the memory."""
        self.near: dict[str, tuple[Near, ...]] = {}
        """What was offered for each sentence."""
        self.prefixes: dict[str, str] = {}
        """With which words its translation was made to begin, for each sentence that something was offered for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._translator, name)

    def translate(
        self,
        sentences: Sequence[str],
        *,
        attention: bool = False,
        previous: Sequence[Sequence[str]] | None = None,
        to: Languages = None,
        **options: Any,
    ) -> list[Translation]:
        """Translate sentences with the options of `Translator.translate`; those from the memory have no score."""
        known = [self._known(sentence) for sentence in sentences]
        hits = [sentence for sentence, old in zip(sentences, known, strict=True) if old is not None]
        unconfirmed = sum(self._memory.exact(one, confirmed=True) is None for one in hits)
        asked = ["" if old is not None else sentence for sentence, old in zip(sentences, known, strict=True)]
        near = [self._similar(sentence) for sentence in asked]
        prefixes = self._prefixes(asked, near, previous, to=to)
        options |= {"attention": attention, "previous": previous, "to": to}
        found = self._translated(asked, prefixes, **options)
        for number, old in enumerate(known):
            if old is not None:
                terms = self._terms(sentences[number], old)
                found[number] = Translation(old, 0.0, 0.0, terms=terms, memory=Recalled(is_exact=True))
            elif self._looks and asked[number].strip():
                found[number] = self._noted(asked[number], found[number], near[number], prefix=prefixes[number])
        if self._memory.keeps:
            self._memory.keep(((one, new.text) for one, new in zip(asked, found, strict=True)), confirmed=False)
        self.sentences += sum(bool(sentence.strip()) for sentence in sentences)
        self.hits += sum(old is not None for old in known)
        self.unconfirmed += unconfirmed
        return self._read(sentences, found, previous, to=to) if attention else found

    def _known(self, sentence: str) -> str | None:
        """Return the translation of a sentence in the memory; None if there is none, or one by a model that lacks terms."""
        found = self._memory.exact(sentence)
        lacks = found is not None and self._glossary.lacking(sentence, found)
        return self._memory.exact(sentence, confirmed=True) if lacks else found

    def _terms(self, sentence: str, translation: str) -> tuple[UsedTerm, ...]:
        """Say which terms of the glossary are in a sentence, and in its translation in the memory."""
        words = Words.of(translation)
        entries = dict.fromkeys(match.entry for match in self._glossary.matches(sentence))
        return tuple(outcome(entry, entry.used(words), entry.used(words)) for entry in entries)

    def _translated(self, asked: Sequence[str], prefixes: Sequence[str], **options: Any) -> list[Translation]:
        """Translate sentences; those with a prefix and the others each with all of their own, in their places."""
        found = [Translation("", 0.0, 0.0)] * len(asked)
        rows = list(zip(asked, prefixes, strict=True))
        if any(free := ["" if prefix else one for one, prefix in rows]):
            found = list(self._translator.translate(free, **options))
        if any(begun := [one if prefix else "" for one, prefix in rows]):
            completed = self._translator.complete(begun, prefixes, **options)
            found = [new if prefix else old for old, new, prefix in zip(found, completed, prefixes, strict=True)]
        return found

    def _noted(self, sentence: str, found: Translation, near: tuple[Near, ...], *, prefix: str) -> Translation:
        """Return a translation with what the memory has that is similar, and the prefix if it begins so."""
        used = prefix if _begins(found.text, prefix) else ""
        self.begun += bool(used)
        if self._offers and near:
            self.near[sentence] = near
            self.prefixes |= {sentence: used} if used else {}
        return replace(found, memory=Recalled(is_exact=False, near=near, prefix=used))

    def _prefixes(
        self,
        asked: Sequence[str],
        near: Sequence[Sequence[Near]],
        previous: Sequence[Sequence[str]] | None,
        *,
        to: Languages,
    ) -> list[str]:
        """Return the words with which the translation of each sentence is to begin, found by the attention of the model."""
        prefixes = [""] * len(asked)
        least = 2.0 if self._near is None else self._near
        best = {number: some[0] for number, some in enumerate(near) if some and some[0].similarity >= least}
        pairs = [(one.source, one.translation) for one in best.values()]
        for (number, one), reading in zip(best.items(), self._maps(list(best), pairs, previous, to=to), strict=True):
            if reading is not None:
                prefixes[number] = beginning(asked[number], one, self._translator.view.links(reading).possible)
        return prefixes

    def _read(
        self,
        sentences: Sequence[str],
        found: Sequence[Translation],
        previous: Sequence[Sequence[str]] | None,
        *,
        to: Languages,
    ) -> list[Translation]:
        """Return translations with the attention of the model where it writes those of the memory; without for one too long."""
        hits = [number for number, one in enumerate(found) if one.memory is not None and one.memory.is_exact]
        pairs = [(sentences[number], found[number].text) for number in hits]
        read = list(found)
        for number, reading in zip(hits, self._maps(hits, pairs, previous, to=to), strict=True):
            read[number] = replace(read[number], reading=reading)
        return read

    def _maps(
        self,
        numbers: Sequence[int],
        pairs: Sequence[tuple[str, str]],
        previous: Sequence[Sequence[str]] | None,
        *,
        to: Languages,
    ) -> list[AttentionMap | None]:
        """Return the attention of the model for pairs, which stand in the places of the sentences with these numbers.

        There is none for a pair that is too long for the model.
        """
        if not pairs:
            return []
        sources, targets = zip(*pairs, strict=True)
        before = None if previous is None else [previous[number] for number in numbers]
        languages = to if to is None or isinstance(to, str | Between) else [to[number] for number in numbers]
        try:
            return [*self._translator.attention_maps(sources, targets, previous=before, to=languages)]
        except InputError:
            if len(pairs) == 1:
                return [None]
            half = len(pairs) // 2
            parts = ((numbers[:half], pairs[:half]), (numbers[half:], pairs[half:]))
            return [one for some in parts for one in self._maps(*some, previous, to=to)]

    @property
    def _looks(self) -> bool:
        """Tell whether the memory is searched for similar sentences."""
        return self._offers or self._near is not None

    def _similar(self, sentence: str) -> tuple[Near, ...]:
        """Return what the memory has that is similar to a sentence, if that is wanted."""
        return tuple(self._memory.near(sentence)) if self._looks and sentence.strip() else ()

    def __str__(self) -> str:
        text = f"{self.hits:,} of {self.sentences:,} sentences were in the translation memory."
        if self.unconfirmed:
            text = f"{text} Of these, as a model translated them before: {self.unconfirmed:,}."
        return text if self._near is None else f"{text} Translations that begin with words from it: {self.begun:,}."


def _begins(text: str, prefix: str) -> bool:
    """Tell whether a translation begins with the words that were given; a model may write small letters only.

    >>> _begins("le vieil homme", "Le vieil")
    True
    """
    return text.casefold().startswith(prefix.casefold())
