"""Warn of likely mistakes in a corpus, one line each; no pairs are dropped because of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dragoman.data.corpus import Pair
from dragoman.data.filters import FilterSummary
from dragoman.data.settings import CorpusSettings, DataSettings
from dragoman.errors import shorten

SAMPLE = 1000
"""Number of pairs at the start of a corpus that are checked."""

FEW = 20
"""Sentences are suspicious if this many share one text on average."""

HEADERS = frozenset(
    {"source", "target", "src", "trg", "tgt", "text", "translation", "sentence", "original", "id", "label"}
    | {"english", "vietnamese", "french", "german", "spanish"}
)
"""Names of columns, as well as the codes of the languages."""


class WarningSigns:
    """Watches the pairs of one corpus on their way to the filter whose `summary` is given."""

    def __init__(self, corpus: CorpusSettings, data: DataSettings, summary: FilterSummary) -> None:
        self.name = corpus.name
        self.languages = data.direction(corpus)
        self._summary = summary
        self._dropped_before = summary.dropped.copy()
        self._read = 0
        self._sample: list[Pair] = []

    def watch(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs unchanged, and remember the first of them."""
        for pair in pairs:
            self._read += 1
            if self._read <= SAMPLE:
                self._sample.append(pair)
            yield pair

    def warnings(self) -> list[str]:
        """Return likely mistakes in the pairs seen, one line each."""
        found = [*self._dropped(), *self._header(), *self._equal()]
        for side, texts in (("source", [p.source for p in self._sample]), ("target", [p.target for p in self._sample])):
            found += self._odd_side(side, texts)
        return found

    def _dropped(self) -> Iterator[str]:
        """Warn where most pairs were left out."""
        dropped = self._summary.dropped - self._dropped_before
        if 2 * dropped.total() > self._read:
            reason, count = dropped.most_common(1)[0]
            yield (
                f"{dropped.total():,} of the {self._read:,} pairs of {self.name} are dropped, {count:,} of them {reason}; "
                "check the corpus and `data.filters`"
            )

    def _header(self) -> Iterator[str]:
        """Warn where the first line names columns."""
        for pair in self._sample[:1]:
            texts = [text.strip(' "').lower() for text in (pair.source, pair.target)]
            if all(text in HEADERS or text in self.languages for text in texts):
                yield f"{pair.place} looks like the names of columns ({', '.join(texts)}); delete that line"

    def _equal(self) -> Iterator[str]:
        """Warn where both sides are the same although the languages are not."""
        equal = sum(pair.source == pair.target for pair in self._sample)
        if self.languages[0] != self.languages[1] and 2 * equal > len(self._sample):
            yield (
                f"both sides are the same in {equal:,} of the first {len(self._sample):,} pairs of {self.name}; "
                "check which file, column or field holds which language"
            )

    def _odd_side(self, side: str, texts: Sequence[str]) -> Iterator[str]:
        """Warn where one side does not look like sentences."""
        signs: Mapping[str, Callable[[str], bool]] = {
            "is in quotation marks, as spreadsheets write it; save it without them": _is_quoted,
            "has no letters; check which column or field holds sentences": _has_no_letters,
        }
        for sign, has_it in signs.items():
            count = sum(map(has_it, texts))
            if 2 * count > len(texts):
                yield f"the {side} side of {count:,} of the first {len(texts):,} pairs of {self.name} {sign}"
        distinct = Counter(texts)
        if len(texts) >= 5 * FEW and len(distinct) * FEW <= len(texts):
            yield (
                f"the {side} side of the first {len(texts):,} pairs of {self.name} is one of only {len(distinct)} texts, "
                f"such as {shorten(distinct.most_common(1)[0][0])!r}; check which column or field holds sentences"
            )


def repeated_corpora(corpora: Sequence[CorpusSettings], described: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Warn of corpora that hold the same pairs as one before them; `described` are their fingerprints (`data/store.py`)."""
    seen: dict[str, str] = {}
    for corpus, description in zip(corpora, described, strict=True):
        paths = {
            name for name in type(corpus).model_fields if name in ("source", "target", "links", "tsv", "jsonl", "text")
        }
        settings = {name: value for name, value in corpus.what.items() if name not in {*paths, "repeat"}}
        same = repr((settings, description["languages"], description["sha256"]))
        if same in seen:
            yield f"{corpus.name} contains the same pairs as {seen[same]}; list it once, with `repeat` to give it more weight"
        seen.setdefault(same, corpus.name)


def _is_quoted(text: str) -> bool:
    """Return whether a spreadsheet has put a text in quotation marks."""
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def _has_no_letters(text: str) -> bool:
    """Return whether there is something in a text, but no letter."""
    return bool(text.strip()) and not any(map(str.isalpha, text))
