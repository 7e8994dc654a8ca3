"""A text and its sentences: cut before translation, put together again afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decoding.settings import DecodingSettings
from dragoman.serving.interface import Alternative, Answer, Detection, Options, Sentence
from dragoman.serving.jobs import Found, Job, Wanted
from dragoman.text.frames import Between
from dragoman.text.segments import Segment, joined, segments

WITHOUT_SPACES = frozenset({"zh", "zho", "cmn", "yue", "ja", "jpn", "th", "tha", "lo", "lao", "km", "khm", "my", "mya"})
"""Languages that put no space between sentences."""


@dataclass(frozen=True)
class Draft:
    """A text to be translated, cut into segments."""

    text: str
    source: str
    target: str
    model: str
    detection: Detection | None
    parts: tuple[Segment, ...]

    @classmethod
    def of(
        cls, text: str, between: tuple[str, str], options: Options, *, model: str, detection: Detection | None = None
    ) -> "Draft":
        """Cut a text."""
        source, target = between
        parts = segments(text, language=source, split=options.split)
        return cls(text, source, target, model, detection, tuple(parts))

    @property
    def translated(self) -> list[int]:
        """Which parts have letters or digits, and so something to translate; the others stay as they are."""
        return [number for number, part in enumerate(self.parts) if any(map(str.isalnum, part.text))]

    def jobs(self, settings: DecodingSettings, options: Options, previous: int) -> list[Job]:
        """Return what there is to translate, for a model that reads so many `previous` sentences."""
        between, wanted = Between(self.source, self.target), Wanted.by(options)
        before = [one.text for one in segments(options.context, language=self.source)] if previous else []
        texts = [*before, *(part.text for part in self.parts)]
        found = []
        for number in self.translated:
            place = number + len(before)
            nearest = tuple(texts[max(0, place - previous) : place]) if previous else ()
            text = self.parts[number].text
            matches = () if options.glossary is None else options.glossary.matches(text)
            terms = tuple(dict.fromkeys(match.entry for match in matches))
            found.append(Job(text, nearest, between, settings, wanted, terms))
        return found

    @property
    def between(self) -> str:
        """What comes between two sentences where nothing stood, as in Chinese."""
        return "" if self.target.replace("_", "-").split("-")[0] in WITHOUT_SPACES else " "

    def joined(self, translations: Sequence[str]) -> str:
        """Put translations in the places of the parts."""
        return joined(self.text, self.parts, translations, between=self.between)

    def answer(self, found: Sequence[Found]) -> Answer:
        """Return the answer, given the translations of the jobs."""
        known = dict(zip(self.translated, found, strict=True))
        all_found = [known.get(row) or Found(Sentence(part.text, part.text)) for row, part in enumerate(self.parts)]
        sentences = self._placed([one.best for one in all_found])
        text = self.joined([one.text for one in sentences])
        return Answer(
            text,
            self.source,
            self.target,
            self.model,
            score=sum(one.score for one in sentences),
            detection=self.detection,
            alternatives=self._alternatives(text, all_found),
            sentences=sentences,
        )

    def _placed(self, best: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """Return sentences with the places where they begin."""
        found: list[Sentence] = []
        last = start = 0
        for part, sentence in zip(self.parts, best, strict=True):
            gap = self.text[last : part.start] or (self.between if found else "")
            found.append(replace(sentence, source_start=part.start, start=start + len(gap)))
            start, last = start + len(gap) + len(sentence.text), part.end
        return tuple(found)

    def _alternatives(self, text: str, found: Sequence[Found]) -> tuple[Alternative, ...]:
        """Return other translations of the whole text: the n-th of each sentence, or its last, side by side."""
        seen, alternatives = {text}, []
        for number in range(max((len(one.alternatives) for one in found), default=0)):
            chosen = [one.alternatives[: number + 1][-1] if one.alternatives else one.best for one in found]
            other = self.joined([one.text for one in chosen])
            if other not in seen:
                seen.add(other)
                alternatives.append(Alternative(other, sum(one.score for one in chosen)))
        return tuple(alternatives)
