"""What an engine calls to translate a batch: a translator of torch, or an export for CTranslate2.

Torch is imported by what is loaded, not by this file.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dragoman.decoding.hypotheses import Watch
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference.checks import lay_over
from dragoman.inference.translation import Translation
from dragoman.serving.interface import Options, Sentence, Token, UnsupportedError
from dragoman.serving.jobs import Found, Job, changes_of, with_room

if TYPE_CHECKING:
    from dragoman.inference.confidence.assessor import Assessor
    from dragoman.inference.ctranslate2.translator import ExportedTranslator
    from dragoman.inference.translator import Translator


@runtime_checkable
class Worker(Protocol):
    """Translates batches of jobs that share their settings, in the thread of an engine."""

    previous: int
    """Maximum number of previous sentences that are read."""

    def settings(self, options: Options) -> DecodingSettings:
        """Return the decoding settings of a call. SettingsError or InputError for what this model does not support."""
        ...

    def encode(self, job: Job) -> Any:
        """Return a job as the model reads it, with a `width` in tokens. InputError for text that it cannot take."""
        ...

    def translate(self, jobs: Sequence[Job], encoded: Sequence[Any], watch: Watch) -> list[Found]:
        """Translate a batch; what the `watch` gives up may be anything."""
        ...

    def spell(self, ids: list[int]) -> str:
        """Return the text of target tokens."""
        ...


class TorchWorker:
    """Translates with one or several models in torch."""

    def __init__(self, translator: "Translator") -> None:
        self.translator = translator
        self.previous = translator.previous

    @cached_property
    def assessor(self) -> "Assessor":
        """What assesses translations of this model. RunError if its calibration cannot be used."""
        from dragoman.inference.confidence.assessor import Assessor

        return Assessor.of(self.translator, device=self.translator.device.type)

    def settings(self, options: Options) -> DecodingSettings:
        """Return the decoding settings of a call. SettingsError or InputError for what this model does not support."""
        if (options.alignment or options.attention) and not self.translator.attends:
            raise UnsupportedError(
                "this model has no attention over the source, so it cannot show where a word comes from"
            )
        base = with_room(self.translator.settings, options)
        chosen = lay_over(base, changes_of(options), self.translator.engine.capabilities)
        if options.glossary is not None and chosen.method == "sample":
            raise UnsupportedError("a glossary does not work with `decoding.method: sample`; leave out one of them")
        return chosen

    def encode(self, job: Job) -> Any:
        """Return a job as ids."""
        (encoded,) = self.translator.requests([job.text], previous=[job.previous], to=[job.between], terms=[job.terms])
        return encoded

    def translate(self, jobs: Sequence[Job], encoded: Sequence[Any], watch: Watch) -> list[Found]:
        """Translate a batch, and look at the attention behind those translations where it is wanted."""
        settings = jobs[0].settings
        self.translator.prepare(settings)
        shown = [job.wanted.alignment or job.wanted.attention for job in jobs]
        found = self.translator.translate_requests(encoded, settings, attention=shown, watch=watch)
        assessed = self._assessed(jobs, encoded, found)
        return [self._found(job, one) for job, one in zip(jobs, assessed, strict=True)]

    def spell(self, ids: list[int]) -> str:
        """Return the text of target tokens."""
        return self.translator.target.decode(ids)

    def _assessed(
        self, jobs: Sequence[Job], encoded: Sequence[Any], found: Sequence[Translation]
    ) -> Sequence[Translation]:
        """Return translations with an assessment where one is wanted."""
        rows = [row for row, job in enumerate(jobs) if job.wanted.confidence]
        if not rows:
            return found
        written = [replace(encoded[row], target=list(found[row].ids)) for row in rows]
        assessed = dict(zip(rows, self.assessor.assess_requests(written), strict=True))
        return [replace(one, assessment=assessed.get(row)) for row, one in enumerate(found)]

    def _found(self, job: Job, one: Translation) -> Found:
        """Return a translation as it is answered."""
        return Found(self._sentence(job, one), tuple(self._sentence(job, other) for other in one.alternatives))

    def _sentence(self, job: Job, one: Translation) -> Sentence:
        """Return one translation of a job with what is wanted of it."""
        wanted, sentence = job.wanted, Sentence(job.text, one.text, score=one.score, log_prob=one.log_prob)
        if one.terms:
            sentence = replace(sentence, terms=one.terms)
        if wanted.log_probs or wanted.attention:
            pieces = [*self.translator.target.pieces(one.ids), "</s>"]
            tokens = zip(pieces, one.token_log_probs, strict=False)
            sentence = replace(sentence, tokens=tuple(Token(piece, log_prob) for piece, log_prob in tokens))
        if one.reading is not None and wanted.attention:
            weights = tuple(tuple(round(weight, 4) for weight in row) for row in one.reading.mean().tolist())
            sentence = replace(sentence, attention=weights, source_tokens=tuple(one.reading.source.pieces))
        if one.reading is not None and wanted.alignment:
            sentence = replace(sentence, alignment=self._links(job.text, one))
        if one.assessment is not None:
            sentence = replace(
                sentence,
                confidence=one.assessment.confidence,
                word_confidence=tuple(share for _, share in one.assessment.words),
                alarms=tuple(map(str, one.assessment.alarms)),
            )
        return sentence

    def _links(self, source: str, one: Translation) -> tuple[tuple[int, int], ...]:
        """Return the links between the words of a pair; none where the model's words are not those between white space."""
        from dragoman.inference.attention_map import with_words

        codec = self.translator.source
        try:
            words = with_words(codec, source, [codec.normalize(word) for word in source.split()])
        except InputError:
            return ()
        reading = replace(one.reading, source=words.framed_as(one.reading.source))
        if len(reading.target.words) != len(one.text.split()):
            return ()
        return tuple(sorted(self.translator.view.links(reading).sure))


class ExportWorker:
    """Translates with an export for CTranslate2, which a watch cannot interrupt."""

    previous = 0

    def __init__(self, translator: "ExportedTranslator") -> None:
        self.translator = translator

    def settings(self, options: Options) -> DecodingSettings:
        """Return the decoding settings of a call. SettingsError or InputError for what CTranslate2 does not support."""
        from dragoman.inference.ctranslate2.translator import require_supported

        for name in ("log_probs", "alignment", "attention", "confidence", "glossary"):
            if getattr(options, name):
                raise UnsupportedError(f"an export does not provide `{name}`; serve the run it was made from")
        chosen = lay_over(with_room(self.translator.settings, options), changes_of(options))
        require_supported(chosen)
        return chosen

    def encode(self, job: Job) -> Any:
        """Return the length of a job, once it is known to fit."""
        (ids,) = self.translator.encode([job.text], to=[job.between])
        return Width(len(ids) + 1)

    def translate(self, jobs: Sequence[Job], encoded: Sequence[Any], watch: Watch) -> list[Found]:
        """Translate a batch."""
        texts, to = [job.text for job in jobs], [job.between for job in jobs]
        found = self.translator.translate(texts, settings=jobs[0].settings, to=to)
        return [
            Found(_bare(job, best), tuple(_bare(job, one) for one in best.alternatives))
            for job, best in zip(jobs, found, strict=True)
        ]

    def spell(self, ids: list[int]) -> str:
        """Return the text of target tokens."""
        return self.translator.target.decode(ids)


def _bare(job: Job, one: Translation) -> Sentence:
    """Return a translation with nothing beside its scores."""
    return Sentence(job.text, one.text, score=one.score, log_prob=one.log_prob)


class Width(int):
    """A length in tokens."""

    @property
    def width(self) -> int:
        """The length itself."""
        return int(self)
