"""Translate with a translation memory: sentences that it has are taken from it, and others are kept in it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from dragoman.data.directions import Languages
from dragoman.documents.memories import Memory, Near, Recalled
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap
from dragoman.inference.translation import Translation
from dragoman.jobs.translate_document import SentenceTranslator
from dragoman.text.frames import Between


class ReadingTranslator(SentenceTranslator, Protocol):
    """A translator that can also show where it would look while it writes a given translation."""

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

    def __init__(self, translator: ReadingTranslator, memory: Memory, *, offers: bool = False) -> None:
        """Take a translator and its memory; with `offers`, translations come with what the memory has that is similar."""
        self._translator, self._memory, self._offers = translator, memory, offers
        self.sentences = 0
        """Number of sentences so far."""
        self.hits = 0
        """Number of those whose translation was in the memory."""
        self.near: dict[str, tuple[Near, ...]] = {}
        """What was offered for each sentence."""

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
        known = [self._memory.exact(sentence) for sentence in sentences]
        asked = ["" if old is not None else sentence for sentence, old in zip(sentences, known, strict=True)]
        found = [Translation("", 0.0, 0.0)] * len(asked)
        if any(asked):
            found = list(self._translator.translate(asked, attention=attention, previous=previous, to=to, **options))
        for number, old in enumerate(known):
            if old is not None:
                found[number] = Translation(old, 0.0, 0.0, memory=Recalled(is_exact=True))
            elif self._offers and sentences[number].strip():
                found[number] = replace(found[number], memory=self._similar(sentences[number]))
        if self._memory.keeps:
            self._memory.keep(((one, new.text) for one, new in zip(asked, found, strict=True)), confirmed=False)
        self.sentences += sum(bool(sentence.strip()) for sentence in sentences)
        self.hits += sum(old is not None for old in known)
        return self._read(sentences, found, previous, to=to) if attention else found

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
        before = None if previous is None else [previous[number] for number in hits]
        languages = to if to is None or isinstance(to, str | Between) else [to[number] for number in hits]
        texts = [sentences[number] for number in hits], [found[number].text for number in hits]
        read = list(found)
        with suppress(InputError):
            for number, reading in zip(
                hits,
                self._translator.attention_maps(*texts, previous=before, to=languages) if hits else [],
                strict=True,
            ):
                read[number] = replace(read[number], reading=reading)
        return read

    def _similar(self, sentence: str) -> Recalled:
        """Return what the memory has that is similar to a sentence."""
        if near := tuple(self._memory.near(sentence)):
            self.near[sentence] = near
        return Recalled(is_exact=False, near=near)

    def __str__(self) -> str:
        return f"{self.hits:,} of {self.sentences:,} sentences were in the translation memory."
