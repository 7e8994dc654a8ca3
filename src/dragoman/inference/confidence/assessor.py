"""Assess translations: how likely each is good, each of its words right, and what is visibly wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.data.checksums import weights_digest
from dragoman.data.directions import Languages
from dragoman.decoding.settings import ALONE
from dragoman.errors import InputError, RunError
from dragoman.inference.confidence.alarms import Alarm, AlarmLimits, raise_alarms
from dragoman.inference.confidence.calibration import Calibration, command_for, read_calibration
from dragoman.inference.confidence.evidence import Evidence, PassSettings, gather
from dragoman.inference.confidence.features import capitals_say_little, sentence_features, word_features
from dragoman.inference.requests import EncodedRequest
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Previous, Translator
from dragoman.text.frames import Between
from dragoman.text.given import given_texts


@dataclass(frozen=True)
class Assessment:
    """How far a translation can be trusted."""

    alarms: tuple[Alarm, ...] = ()
    confidence: float | None = None
    """Probability that the translation is good, in the sense of the calibration; None without one, or if it is empty."""
    words: tuple[tuple[str, float], ...] = ()
    """Each word of the translation, with the probability that a reference has it in its place; empty without a calibration."""
    replaced: str | None = None
    """The translation that a rescue replaced by this one."""

    @property
    def flagged(self) -> bool:
        """Tell whether an alarm was raised, or the translation is more likely bad than good."""
        return bool(self.alarms) or (self.confidence is not None and self.confidence < 0.5)


class Assessor:
    """Assesses translations of a run, its own or any others.

    >>> assessor = Assessor.load("runs/demo", beam=4)  # doctest: +SKIP
    >>> assessor.translate(["I love cats."])[0].assessment.confidence  # doctest: +SKIP
    0.93
    """

    def __init__(
        self, translator: Translator, calibration: Calibration | None = None, reverse: Translator | None = None
    ) -> None:
        self.translator = translator
        self.calibration = calibration
        self.reverse = reverse
        self.passes = PassSettings() if calibration is None else calibration.passes
        self.limits = AlarmLimits() if calibration is None else calibration.limits
        self.others = () if calibration is None else calibration.others
        """Other sources that translations are scored with too."""

    @classmethod
    def load(cls, /, *runs: str | Path, device: str = "auto", **decoding: Any) -> "Assessor":
        """Load a run, or several as an ensemble, as `Translator.load` does, with its calibration if there is one."""
        return cls.of(Translator.load(*runs, device=device, **decoding), device=device)

    @classmethod
    def of(cls, translator: Translator, *, device: str = "auto") -> "Assessor":
        """Assess with a loaded translator. RunError if its calibration cannot be used."""
        folders = [run.folder for run in translator.engine.runs]
        calibration = read_calibration(*folders) if folders else None
        reverse = None
        if calibration is not None and calibration.reverse is not None:
            if weights_digest(Path(calibration.reverse) / "model.safetensors") != calibration.reverse_weights:
                name = " and ".join(map(str, folders))
                raise RunError(
                    f"the calibration of {name} was made with the reverse run {calibration.reverse}, which is missing or has "
                    f"changed; make it again with `{command_for(*folders)}`"
                )
            reverse = Translator.load(calibration.reverse, device=device, **ALONE)
        return cls(translator, calibration, reverse)

    def require_calibration(self, to: Between | None = None) -> Calibration:
        """Return the calibration. Raises InputError if there is none, with how to make one, or if it is for other languages."""
        if self.calibration is None:
            folders = [run.folder for run in self.translator.engine.runs] or [Path("RUN")]
            name = str(folders[0]) if len(folders) == 1 else f"the ensemble of {' and '.join(map(str, folders))}"
            raise InputError(
                f"{name} has no calibration, so no confidence yet; make one with `{command_for(*folders)}`, or ask for alarms "
                "only"
            )
        if to is not None and to.source is not None and tuple(to) != self.translator.languages:
            own, other = (" to ".join(map(str, one)) for one in (self.translator.languages, to))
            raise InputError(f"this run is calibrated from {own}, which says nothing from {other}; ask for alarms only")
        return self.calibration

    def translate(
        self,
        sentences: Iterable[str],
        *,
        first: int = 1,
        previous: Previous = None,
        to: Languages = None,
        **options: Any,
    ) -> list[Translation]:
        """Translate like `Translator.translate`; each translation, alternatives included, has an `assessment`."""
        texts = given_texts(sentences, first=first)
        found = self.translator.translate(texts, first=first, previous=previous, to=to, **options)
        requests = self.translator.requests(texts, previous=previous, first=first, to=to)
        written = [
            with_target(request, one)
            for request, best in zip(requests, found, strict=True)
            for one in (best, *best.alternatives)
        ]
        assessed = iter(self.assess_requests(written))
        return [
            replace(
                best,
                assessment=next(assessed),
                alternatives=tuple(replace(one, assessment=next(assessed)) for one in best.alternatives),
            )
            for best in found
        ]

    def assess(
        self, sources: Iterable[str], targets: Iterable[str], *, previous: Previous = None, to: Languages = None
    ) -> list[Assessment]:
        """Assess given translations, whoever made them; `previous` and `to` are those of `Translator.translate`."""
        return self.assess_requests(self.translator.requests(sources, targets, previous=previous, to=to))

    def assess_requests(self, requests: Sequence[EncodedRequest]) -> list[Assessment]:
        """Assess the target of each request."""
        return [
            self._of_nothing(request) if evidence is None else self._assessment(evidence, self._languages(request))
            for request, evidence in zip(requests, self.observe(requests), strict=True)
        ]

    def observe(self, requests: Sequence[EncodedRequest]) -> list[Evidence | None]:
        """Return the evidence for each request; None where source or target is empty."""
        rows = [number for number, one in enumerate(requests) if one.sources[0] and one.target]
        chosen = [requests[row] for row in rows]
        seen = gather(self.translator, chosen, self.passes, reverse=self.reverse, others=self.others)
        found = dict(zip(rows, seen, strict=True))
        return [found.get(number) for number in range(len(requests))]

    def _of_nothing(self, request: EncodedRequest) -> Assessment:
        """Assess a request without source or target: one without the other has lost everything, or follows from nothing."""
        if not request.sources[0] and not request.target:
            return Assessment()
        alarm = Alarm("detached" if request.target else "too short")
        return Assessment((alarm,), 0.0 if self._is_calibrated(self._languages(request)) else None)

    def _languages(self, request: EncodedRequest) -> tuple[str, str]:
        """Return the languages of a pair; a source that may be of several is taken for one in which all nouns have capitals."""
        directions, (source, to) = self.translator.directions, request.request.between or (None, None)
        if to is None:
            return self.translator.languages
        sources = [one for one, target in directions.trained if target == to] or directions.languages
        return source or max(sources, key=capitals_say_little), to

    def _is_calibrated(self, languages: tuple[str, str]) -> bool:
        """Tell whether there is a calibration, and whether it was made for a direction."""
        return self.calibration is not None and languages == self.translator.languages

    def _assessment(self, evidence: Evidence, languages: tuple[str, str]) -> Assessment:
        """Assess by evidence."""
        if self.calibration is None or not self._is_calibrated(languages):
            return Assessment(raise_alarms(evidence, AlarmLimits(), languages))
        alarms = raise_alarms(evidence, self.limits, languages)
        (confidence,) = self.calibration.sentences([sentence_features(evidence, languages)]).tolist()
        scale = self.calibration.words
        words = [] if scale is None else scale(word_features(evidence)).tolist()
        return Assessment(alarms, confidence, tuple(zip(evidence.target, words, strict=False)))


def with_target(request: EncodedRequest, translation: Translation) -> EncodedRequest:
    """Return a request with a translation of its source as the target.

    Its tokens are those that were written: the text may have other words in place of unknown ones, or be divided otherwise.
    """
    return replace(request, request=replace(request.request, target=translation.text), target=list(translation.ids))
