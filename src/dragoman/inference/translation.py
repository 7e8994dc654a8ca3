"""A translation, independent of the engine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class UsedTerm:
    """A term of a glossary in a sentence, and whether its translation is in that of the sentence."""

    source: str
    target: str
    """The translation that was used, or else the preferred one."""
    state: Literal["met", "forced", "unmet"]
    """Met at once, forced by a second search, or missing."""


@dataclass(frozen=True)
class TermCounts:
    """How many terms of a glossary were in sentences, counted once for each sentence, and in their translations."""

    matched: int = 0
    met: int = 0
    """In the translations that search found at first, or that a memory has."""
    forced: int = 0
    """In those of a second search."""
    unmet: int = 0
    searched_again: int = 0
    """Number of sentences that were searched again."""

    @classmethod
    def of(cls, translations: "Iterable[Translation]") -> "TermCounts":
        """Count the terms of translations.

        >>> terms = (UsedTerm("cat", "mèo", "met"), UsedTerm("mat", "thảm", "forced"))
        >>> print(TermCounts.of([Translation("Mèo trên thảm.", -1.0, -1.0, terms=terms, searched_again=True)]))
        Terms in the source: 2; met at once: 1, forced by a second search: 1 (sentences searched: 1), unmet: 0.
        """
        found = list(translations)
        states = [term.state for one in found for term in one.terms]
        again = sum(one.searched_again for one in found)
        return cls(len(states), states.count("met"), states.count("forced"), states.count("unmet"), again)

    def __add__(self, other: "TermCounts") -> "TermCounts":
        return TermCounts(
            self.matched + other.matched,
            self.met + other.met,
            self.forced + other.forced,
            self.unmet + other.unmet,
            self.searched_again + other.searched_again,
        )

    def __str__(self) -> str:
        if not self.matched:
            return (
                "No term of the glossary is in the source; if one should be, see that a tab (in .csv a comma) stands between "
                "each term and its translation."
            )
        return (
            f"Terms in the source: {self.matched:,}; met at once: {self.met:,}, forced by a second search: {self.forced:,} "
            f"(sentences searched: {self.searched_again:,}), unmet: {self.unmet:,}."
        )


@dataclass(frozen=True)
class Translation:
    """One translation: its text, the score it was ranked by, and the model's own log-probability of it."""

    text: str
    score: float
    log_prob: float
    alternatives: tuple["Translation", ...] = ()
    """The other translations requested with `n_best`, best first."""
    reading: Any = None
    """The attention, an `attention_map.AttentionMap`, if requested."""
    token_log_probs: tuple[float, ...] = ()
    """The model's log-probability of each token of the target, </s> last; empty if CTranslate2 searched."""
    ids: tuple[int, ...] = ()
    """The tokens of the target, without </s>."""
    terms: tuple[UsedTerm, ...] = ()
    """The terms of the glossary in the sentence, if there is one."""
    searched_again: bool = False
    """Whether a second search asked for these terms."""
    assessment: Any = None
    """How far it can be trusted, a `confidence.assessor.Assessment`, if an `Assessor` translated."""
    memory: Any = None
    """What a translation memory has of the source, a `documents.memories.Recalled`, if one was asked."""

    @property
    def per_token(self) -> float:
        """The log-probability divided by the number of tokens, </s> included.

        >>> Translation("A cat.", -0.9, -1.5, ids=(5, 6)).per_token
        -0.5
        """
        return self.log_prob / (len(self.ids) + 1)
