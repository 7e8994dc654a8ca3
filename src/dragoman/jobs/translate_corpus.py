"""Translate whole corpora into JSON Lines files, chunk by chunk, so that it can be stopped and resumed."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text
from dragoman.data.corpus import Pair
from dragoman.errors import RunError
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator

CHUNK = 1024
"""Number of sentences translated and written together; a resumed job continues after the last chunk."""

Choose = Callable[[Translation, Pair], list[str]]
"""Returns the texts to keep from the translation of a pair's source."""


@dataclass(frozen=True)
class TranslationProgress:
    """The progress of translation."""

    sentences: int
    total: int
    rate: float
    """Sentences per second since the job was started or resumed."""

    @property
    def seconds_left(self) -> float:
        """Return the remaining time at this rate."""
        return (self.total - self.sentences) / self.rate


Report = Callable[[TranslationProgress], None]
"""Is called after every chunk."""


@dataclass(frozen=True)
class CorpusTranslation:
    """A corpus, and the file of its translations: one JSON object per line, with `sentence`, `source` and `target`."""

    pairs: Callable[[], Iterable[Pair]]
    """Iterates over the corpus from the start."""
    path: Path
    """The file; until it is complete, its translations are in the file `partial`."""

    @property
    def partial(self) -> Path:
        """Return the path of incomplete translations."""
        return self.path.with_name(f"{self.path.name}.partial")


def translate_corpora(
    translator: Translator, corpora: Sequence[CorpusTranslation], choose: Choose, *, report: Report
) -> None:
    """Translate every corpus that has no file yet, and report the progress after each chunk.

    Raises RunError if the files of an unfinished job are inconsistent.
    """
    counts = [sum(1 for _ in corpus.pairs()) for corpus in corpora]
    begin, already = time.monotonic(), 0
    for number, corpus in enumerate(corpora):
        earlier = sum(counts[:number])
        if corpus.path.exists():
            already += counts[number]
            continue
        resumed = ResumePoint.read(corpus)
        already += resumed.sentences
        with corpus.partial.open("ab") as file:
            file.truncate(resumed.end)
            for rows, sentences in _chunks(translator, iter(corpus.pairs()), resumed.sentences, choose=choose):
                file.write("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
                file.flush()
                ResumePoint(sentences, file.tell()).write(corpus)
                rate = (earlier + sentences - already) / (time.monotonic() - begin)
                report(TranslationProgress(earlier + sentences, sum(counts), rate))
        os.replace(corpus.partial, corpus.path)


@dataclass(frozen=True)
class ResumePoint:
    """The number of translated sentences of a corpus, and their size in bytes in its unfinished file."""

    sentences: int = 0
    end: int = 0

    @classmethod
    def read(cls, corpus: CorpusTranslation) -> "ResumePoint":
        """Return where a job was stopped, or the start. Raises RunError if its files are inconsistent."""
        partial, note = corpus.partial, corpus.path.with_suffix(".place")
        if not partial.exists() or not note.exists():
            return cls()
        try:
            sentences, end = map(int, note.read_text(encoding="utf-8").split())
        except ValueError:
            sentences, end = 0, -1
        if not 0 <= end <= partial.stat().st_size:
            raise RunError(f"{partial} and {note} are inconsistent; delete both to translate again")
        return cls(sentences, end)

    def write(self, corpus: CorpusTranslation) -> None:
        """Record the position of the job."""
        write_text(corpus.path.with_suffix(".place"), f"{self.sentences} {self.end}\n")


def _chunks(
    translator: Translator, pairs: Iterator[Pair], done: int, *, choose: Choose
) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Translate the pairs after the first `done`; yield the results of each chunk, and the number of sentences up to its end.

    A document model reads the sentences before each one.
    """
    before: list[Pair] = []
    number = 0
    while chunk := list(islice(pairs, CHUNK)):
        known, first = [*before, *chunk], number
        before = known[max(0, len(known) - translator.previous) :]
        number += len(chunk)
        if number <= done:
            continue
        previous = translator.preceding([pair.source for pair in known], [pair.document for pair in known])
        sources = [pair.source for pair in chunk]
        to = [pair.to for pair in chunk]
        found = translator.translate(sources, first=first + 1, previous=previous[-len(chunk) :], to=to)
        rows = [
            {"sentence": at, "source": pair.source, "target": text}
            for at, (pair, one) in enumerate(zip(chunk, found, strict=True), first)
            for text in choose(one, pair)
        ]
        yield rows, number
