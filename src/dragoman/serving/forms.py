"""The bodies of Dragoman's own routes: what they take, and how an answer is written in JSON."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dragoman.documents.glossaries import VARIANT
from dragoman.serving.interface import Answer, Call, Options, Sentence
from dragoman.serving.openapi import refusals
from dragoman.text.glossary import Entry, Glossary, Words
from dragoman.text.segments import Split

MOST_TERMS, LONGEST_TERM = 1000, 200
"""Limits of a glossary that comes with a request: how many terms, and how many characters each."""


def _known_terms(glossary: dict[str, str]) -> dict[str, str]:
    """Return a glossary. ValueError for one that is too large, or has a term without words, which is not repeated."""
    if len(glossary) > MOST_TERMS:
        raise ValueError(f"{len(glossary)} terms are too many; send at most {MOST_TERMS}")
    for number, (source, target) in enumerate(glossary.items(), 1):
        if not all(len(term) <= LONGEST_TERM and Words.of(term) for term in (source, *target.split(VARIANT))):
            raise ValueError(
                f"term {number} or its translation has no words, or more than {LONGEST_TERM} characters; leave it out"
            )
    return glossary


class Form(BaseModel):
    """A body in JSON."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        """Refuse half of a surrogate pair: JSON can say it, but no answer could repeat it."""
        try:
            json.dumps(given, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError:
            raise PydanticCustomError(
                "surrogate", "half of a surrogate pair (`\\ud800` to `\\udfff`) is no character; send whole characters"
            ) from None
        return given


class TranslateForm(Form):
    """What is to be translated."""

    text: str | list[str]
    """One text, or several of one language pair."""
    target: str
    """Code of the language to translate into."""
    source: str = "auto"
    """Code of the language of the texts; `auto` to detect that of each."""
    model: str | None = None
    """Name of the model that must answer; the first that translates the pair unless given."""
    n_best: int = Field(default=1, ge=1)
    """How many translations of each text: the best and alternatives."""
    beam: int | None = Field(default=None, ge=1)
    """Beam size; the run's own unless given."""
    decoding: dict[str, bool | int | float | str | None] = {}
    """Other decoding settings, such as `length_penalty`."""
    split: Split = "sentences"
    """Where texts are cut before they are translated: at the ends of `sentences` (and lines), by `punctuation` only, at `lines`,
    or not at all (`none`)."""
    context: str = ""
    """Text before the first one, for models of documents; it is not translated."""
    log_probs: bool = False
    """Show the tokens of each sentence with their log-probabilities."""
    alignment: bool = False
    """Show the links between the words of each sentence and its translation."""
    attention: bool = False
    """Show the weights with which each token of the translation looked at the tokens of the source."""
    confidence: bool = False
    """Show alarms, and the confidence where the run has a calibration."""
    glossary: Annotated[dict[str, str], AfterValidator(_known_terms)] = {}
    """Terms and how they must be translated, with `|` between translations of which each is fine; each
    sentence says what became of those in it (`met`, `forced`, `unmet`)."""
    stream: bool = False
    """Answer with server-sent events: `progress` as the translation is written, `answer` for each text, `done` or `error`."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts, one or several."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text)

    @property
    def call(self) -> Call:
        """What the service is asked."""
        terms = [(source, [one.strip() for one in target.split(VARIANT)]) for source, target in self.glossary.items()]
        options = Options(
            beam=self.beam,
            n_best=self.n_best,
            decoding=tuple(sorted(self.decoding.items())),
            split=self.split,
            context=self.context,
            log_probs=self.log_probs,
            alignment=self.alignment,
            attention=self.attention,
            confidence=self.confidence,
            glossary=Glossary(tuple(Entry.of(*pair) for pair in terms)) if terms else None,
        )
        return Call(self.texts, None if self.source == "auto" else self.source, self.target, options, self.model)

    @property
    def details(self) -> bool:
        """Whether the sentences are shown."""
        return self.log_probs or self.alignment or self.attention or self.confidence or bool(self.glossary)


class DocumentForm(Form):
    """A document that is to be translated, as a form with a file."""

    file: bytes = Field(json_schema_extra={"format": "binary"})
    """The document; the end of its name says what it is."""
    target: str
    """Code of the language to translate into."""
    source: str = "auto"
    """Code of the language of the document; `auto` to detect it."""
    model: str | None = None
    """Name of the model that must answer; the first that translates the pair unless given."""


class DetectForm(Form):
    """A text whose language is asked for."""

    text: str
    """The text; its beginning is looked at."""


class DetectionForm(Form):
    """A language that a text may be in."""

    language: str
    confidence: float
    """From 0 to 1."""


class AlternativeForm(Form):
    """Another translation."""

    text: str
    score: float


class TranslationForm(Form):
    """The translation of one text."""

    text: str
    source: str
    """Code of the language that it was translated from."""
    target: str
    model: str
    """Name of the model that translated."""
    score: float
    """The sum of the scores of its sentences: log-probabilities, normalised by length."""
    detected: DetectionForm | None = None
    """What was detected, if the request did not say."""
    alternatives: list[AlternativeForm] | None = None
    """Other translations, best first, if `n_best` asks for them."""
    confidence: float | None = None
    """The lowest confidence among its sentences, if it was asked for and is known."""
    sentences: list[dict[str, Any]] | None = None
    """Each sentence with `source`, `text`, where they begin, `score`, `log_prob`, and what was asked for: `tokens`, `alignment`,
    `attention` with `source_tokens`, `confidence`, `word_confidence`, `alarms`, `terms`. Tokens are in the order of writing."""


class TranslationsForm(Form):
    """The translations of the texts, in their order."""

    translations: list[TranslationForm]


class DetectionsForm(Form):
    """The languages that a text may be in, likeliest first."""

    detections: list[DetectionForm]


class LanguageForm(Form):
    """A source language."""

    code: str
    targets: list[str]
    """Codes of the languages that it is translated into."""


class ModelForm(Form):
    """A model."""

    name: str
    directions: list[tuple[str, str]]
    """Codes of source and target languages."""
    loaded: bool
    """Whether it is in memory now."""
    attends: bool | None
    """Whether it can show attention and alignments."""
    explorable: bool | None
    """Whether `/v1/explore` and the page can look into it; ensembles and exports only translate."""


class LimitsForm(Form):
    """What one request may ask for."""

    beam: int
    """Largest beam, and most translations of a text."""
    characters: int
    """Maximum number of characters in all texts."""


class LanguagesForm(Form):
    """What is translated here."""

    languages: list[LanguageForm]
    models: list[ModelForm]
    limits: LimitsForm


class HealthForm(Form):
    """The state of the service."""

    status: Literal["ok", "draining"]


class ErrorForm(Form):
    """What was wrong."""

    code: str
    """A stable name for programs."""
    message: str


class ProblemForm(Form):
    """The answer to a request that is refused."""

    error: ErrorForm


REFUSED = refusals(ProblemForm, (400, 403, 404, 413, 422, 429, 500, 503, 504))
"""How Dragoman's own routes describe their refusals."""


def translation_table(answer: Answer, *, details: bool, alternatives: bool) -> dict[str, Any]:
    """Return an answer as a `TranslationForm`."""
    table: dict[str, Any] = {
        "text": answer.text,
        "source": answer.source,
        "target": answer.target,
        "model": answer.model,
        "score": answer.score,
    }
    if answer.detection is not None:
        table["detected"] = asdict(answer.detection)
    if alternatives:
        table["alternatives"] = [asdict(one) for one in answer.alternatives]
    if answer.confidence is not None:
        table["confidence"] = answer.confidence
    if details:
        table["sentences"] = [_sentence_table(one) for one in answer.sentences]
    return table


def _sentence_table(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence with what it has."""
    table = asdict(sentence)
    return {name: value for name, value in table.items() if value is not None and value != ()}
