"""Filter training pairs, and count those that are dropped."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dragoman.data.corpus import Pair
from dragoman.data.settings import FilterSettings
from dragoman.errors import CorpusError, number_of
from dragoman.text.normalize import normalize

PLACES = 3
"""Number of examples recorded for each reason."""


@dataclass
class FilterSummary:
    """How many pairs were kept and dropped, why, and where the first dropped ones are."""

    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """Likely mistakes in the corpora, one line each."""

    def drop(self, reason: str, place: str) -> None:
        """Count a dropped pair."""
        self.dropped[reason] += 1
        places = self.places.setdefault(reason, [])
        if len(places) < PLACES:
            places.append(place)

    def require_pairs(self) -> None:
        """Raise CorpusError if no pair was kept."""
        if self.kept == 0:
            found = str(self).replace("\n ", ";")
            raise CorpusError(f"no sentence pairs are left to train on; check `data.filters` ({found})")

    def table(self) -> dict[str, Any]:
        """Return the summary ready for JSON."""
        return {
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "places": self.places,
            "warnings": self.warnings,
        }

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "FilterSummary":
        """Read what `table` returned."""
        return cls(table["kept"], Counter(table["dropped"]), table["places"], table["warnings"])

    def __str__(self) -> str:
        lines = [f"{number_of(self.kept, 'pair')} kept, {self.dropped.total():,} left out"]
        for reason, count in self.dropped.most_common():
            more = ", ..." if count > PLACES else ""
            lines.append(f"  {count:,} {reason}: {'; '.join(self.places[reason])}{more}")
        return "\n".join(lines)


def mostly_dropped(name: str, before: FilterSummary, after: FilterSummary) -> Iterator[str]:
    """Warn if most pairs of the corpus `name` were dropped; the summaries are those before and after it."""
    dropped = after.dropped - before.dropped
    read = dropped.total() + after.kept - before.kept
    if 2 * dropped.total() > read:
        reason, count = dropped.most_common(1)[0]
        yield (
            f"{dropped.total():,} of the {read:,} pairs of {name} are dropped, {count:,} of them {reason}; "
            "check the corpus and `data.filters`"
        )


class HashSet64:
    """A set of 64-bit hashes in an array: 16 to 32 bytes each, a third of what Python's own set takes.

    Two different pairs are taken for equal with a probability of about n^2 / 2^65 among n pairs.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, key: int) -> bool:
        """Add a hash above 0; return whether it is new."""
        if 2 * self._count >= len(self._slots):
            self._grow()
        slot = self._find(key)
        is_new = self._slots[slot] == 0
        self._slots[slot] = key
        self._count += is_new
        return is_new

    def _find(self, key: int) -> int:
        """Return the slot that holds `key`, or the free one where it belongs."""
        slots, last = self._slots, len(self._slots) - 1
        slot = key & last
        while slots[slot] not in (0, key):
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        """Double the slots."""
        old = self._slots
        self._slots = array("Q", bytes(16 * len(old)))
        for key in old:
            if key:
                self._slots[self._find(key)] = key


def rejection_reason(source: str, target: str, settings: FilterSettings) -> str | None:
    """Return why a pair of normalised texts is dropped, or None.

    >>> rejection_reason("Hello .", "", FilterSettings())
    'with an empty side'
    >>> rejection_reason("Hello .", "Bonjour .", FilterSettings())
    """
    short, long = sorted((len(source), len(target)))
    if short == 0:
        return "with an empty side"
    if settings.max_words is not None and max(source.count(" "), target.count(" ")) >= settings.max_words:
        return f"with more than {settings.max_words} words"
    if settings.max_characters is not None and long > settings.max_characters:
        return f"with more than {settings.max_characters} characters"
    if settings.max_ratio is not None and long + 10 > settings.max_ratio * (short + 10):
        return f"with sides whose lengths differ more than {settings.max_ratio:g} times"
    return None


def excess(text: str, settings: FilterSettings) -> str | None:
    """Return how long a text is, if it is longer than any that training keeps, and which setting says so.

    >>> excess("a b c", FilterSettings(max_words=2))
    '3 words, but training excluded pairs of more than 2 (`data.filters.max_words`)'
    >>> excess("a b c", FilterSettings())
    """
    normalized = normalize(text)
    lengths = {"words": len(normalized.split()), "characters": len(normalized)}
    for name, length in lengths.items():
        most = getattr(settings, f"max_{name}")
        if most is not None and length > most:
            return f"{length:,} {name}, but training excluded pairs of more than {most:,} (`data.filters.max_{name}`)"
    return None


class PairFilter:
    """Yields the pairs to keep, corpus by corpus, and counts kept and dropped ones in `summary`.

    A duplicate is one of any pair before it, in whichever corpus.
    """

    def __init__(self, settings: FilterSettings, summary: FilterSummary | None = None) -> None:
        self.settings = settings
        self.summary = FilterSummary() if summary is None else summary
        self._seen = HashSet64()

    def keep(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs of one corpus to keep."""
        for pair in pairs:
            source, target = normalize(pair.source), normalize(pair.target)
            reason = rejection_reason(source, target, self.settings)
            if reason is None and self.settings.drop_duplicates and not self._seen.add(_hash(source, target, pair.to)):
                reason = "seen before"
            if reason is None:
                self.summary.kept += 1
                yield pair
            else:
                self.summary.drop(reason, pair.place)


def _hash(source: str, target: str, to: str | None) -> int:
    """Hash a pair, and its target language where there are several, to 64 bits, never 0."""
    tag = "" if to is None else f"\n{to}"
    digest = hashlib.blake2b(f"{source}\n{target}{tag}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
