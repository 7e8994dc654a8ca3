"""A service that looks translations up: whole sentences first, then words, with links between them. For tests of shapes."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dragoman.serving.interface import (
    Alternative,
    Answer,
    Call,
    Detection,
    Model,
    Progress,
    Sentence,
    ServiceError,
    UnknownLanguageError,
    UnsupportedError,
)

Result = TypeVar("Result")
EN_VI = {
    "hello": "xin chào",
    "world": "thế giới",
    "i love cats.": "Tôi yêu mèo.",
    "good": "tốt",
    "morning": "buổi sáng",
    "settings": "cài đặt",
    "open": "mở",
    "the": "cái",
    "page": "trang",
    "red": "đỏ",
    "house": "nhà",
    "artist": "nghệ sĩ",
    "prize": "giải",
}
WORDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("en", "vi"): EN_VI,
    ("vi", "en"): {"xin": "hello", "chào": "", "thế": "world", "giới": "", "nhà": "house", "đỏ": "red"},
    ("en", "de"): {"proton": "Protonen", "beam": "strahl", "proton beam": "Protonenstrahl", "artist": "Künstler"},
    ("de", "en"): {"protonenstrahl": "proton beam", "haus": "house"},
    ("en", "pt"): {"proton beam": "feixe de prótons"},
}
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|(?=\n|$))")


@dataclass
class Phrases:
    """The service. It keeps what it was asked, and fails as a test tells it to."""

    words: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=lambda: WORDS)
    attends: bool | None = True
    failures: list[Exception] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    draining: bool = False

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return how often it was asked."""
        return {"phrases": {"calls": len(self.calls)}}

    def languages(self) -> Mapping[str, frozenset[str]]:
        """Return the pairs that there are words for."""
        return {source: frozenset(t for s, t in self.words if s == source) for source, _ in self.words}

    def models(self) -> tuple[Model, ...]:
        """Return one model for each pair."""
        return tuple(Model("-".join(pair), (pair,), True, self.attends) for pair in self.words)

    def detect(self, text: str) -> list[Detection]:
        """Return the languages whose words there are most of."""
        found = set(re.findall(r"\w+", text.lower()))
        if not found:
            return []
        counts = {source: 0.1 for source in self.languages()}
        for (source, _), words in self.words.items():
            known = {part for phrase in words for part in re.findall(r"\w+", phrase)}
            counts[source] = max(counts[source], 0.1 + len(found & known))
        total = sum(counts.values())
        return sorted((Detection(one, n / total) for one, n in counts.items()), key=lambda one: -one.confidence)

    async def translate(self, call: Call) -> list[Answer]:
        """Translate each text."""
        self.calls.append(call)
        if self.failures:
            raise self.failures.pop(0)
        if call.options.alignment and self.attends is None:
            raise UnsupportedError("this model has no attention")
        return [self._answer(text, call) for text in call.texts]

    def stream(self, call: Call) -> AsyncIterator[Progress]:
        """Streams are not looked up."""
        raise ServiceError("no streams")

    async def compute(self, model: str | None, work: Callable[[Any], Result]) -> Result:
        """There is no model to look into."""
        raise ServiceError("no model")

    def _answer(self, text: str, call: Call) -> Answer:
        """Translate one text."""
        source = call.source or next((one.language for one in self.detect(text)), "en")
        words = self.words.get((source, call.target))
        if words is None:
            raise UnknownLanguageError("no such pair", source=source, target=call.target)
        spans = (
            [found.span() for found in _SENTENCE.finditer(text)] if call.options.split != "none" else [(0, len(text))]
        )
        sentences, written, done = [], "", 0
        for start, end in spans:
            start += len(text[start:end]) - len(text[start:end].lstrip())
            end = start + len(text[start:end].rstrip())
            if start >= end:
                continue
            written += text[done:start]
            there, links = _sentence(text[start:end], words)
            alignment = links if call.options.alignment else ()
            sentences.append(Sentence(text[start:end], there, start, len(written), alignment=alignment))
            written, done = written + there, end
        others = tuple(Alternative(f"{written} ({number})", -number) for number in range(1, call.options.n_best))
        return Answer(
            written + text[done:], source, call.target, "-".join((source, call.target)),
            alternatives=others, sentences=tuple(sentences),
        )  # fmt: skip


def _sentence(text: str, words: Mapping[str, str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Translate a sentence: whole, or word by word from the last to the first, so that everything moves."""
    if text.lower() in words:
        there = words[text.lower()]
        count = len(text.split()), len(there.split())
        return there, tuple((min(j, count[0] - 1), j) for j in range(count[1]))
    target: list[str] = []
    links: list[tuple[int, int]] = []
    for number, word in reversed(list(enumerate(text.split()))):
        bare = re.sub(r"^\W+|\W+$", "", word)
        there = words.get(bare.lower(), bare) if bare else ""
        for part in (word.replace(bare, there, 1) if bare else word).split():
            links.append((number, len(target)))
            target.append(part)
    return " ".join(target), tuple(sorted(links))
