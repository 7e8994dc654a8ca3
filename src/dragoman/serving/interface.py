"""What a service of translations is asked and answers: plain values, the protocol of a service, and its errors.

Routes of every shape (Dragoman's own, LibreTranslate's, DeepL's) turn a request into a `Call`, and an `Answer` into JSON; they
know nothing of models. A service knows nothing of HTTP. This module imports neither torch nor a web framework.

    call = Call(("Guten Tag.",), source=None, target="en", options=Options(alignment=True))
    (answer,) = await service.translate(call)
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from dragoman.errors import DragomanError
from dragoman.inference.translation import UsedTerm
from dragoman.text.glossary import Glossary
from dragoman.text.segments import Split

Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    """What a call asks for beside the language. Calls with equal options may share a batch and answers."""

    beam: int | None = None
    """Beam size; None is the run's own."""
    n_best: int = 1
    """How many translations: the best and `n_best - 1` alternatives. The beam is at least as large."""
    decoding: tuple[tuple[str, bool | int | float | str | None], ...] = ()
    """Other decoding settings of the run that the call changes, by name: `(("length_penalty", 0.6),)`."""
    split: Split = "sentences"
    """How a text is cut before it is translated: at the ends of sentences, lines, both ("sentences"), or not at all."""
    context: str = ""
    """Text before the first one, which is read by models of documents but not translated."""
    log_probs: bool = False
    """Ask for the tokens of each sentence with their log-probabilities."""
    alignment: bool = False
    """Ask for links between words, which needs a model with attention."""
    attention: bool = False
    """Ask for the attention of each target token over the source tokens, averaged over layers and heads."""
    confidence: bool = False
    """Ask for alarms, and for confidence where the run has a calibration."""
    glossary: Glossary | None = None
    """Terms, and how they must be translated."""


@dataclass(frozen=True)
class Call:
    """Texts of one language to translate into another."""

    texts: tuple[str, ...]
    source: str | None
    """Code of the language of all texts; None to detect that of each."""
    target: str
    options: Options = Options()
    model: str | None = None
    """Name of the model that must answer, as in `Model.name`; None for the first that translates the pair."""


@dataclass(frozen=True)
class Detection:
    """A language that a text may be in."""

    language: str
    confidence: float
    """From 0 to 1; those of a text add up to at most 1."""


@dataclass(frozen=True)
class Alternative:
    """Another translation of the whole text; where sentences were cut, the alternatives of each stand side by side."""

    text: str
    score: float


@dataclass(frozen=True)
class Token:
    """A token of a translation, as the model wrote it."""

    text: str
    log_prob: float | None = None
    """Natural log-probability; None where the engine does not tell."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text with its translation. What was not asked for is empty or None."""

    source: str
    text: str
    source_start: int = 0
    """Where `source` begins in the text given, in characters."""
    start: int = 0
    """Where `text` begins in the text of the answer."""
    score: float = 0.0
    """The score that it was ranked by."""
    log_prob: float = 0.0
    """Natural log-probability of the translation."""
    tokens: tuple[Token, ...] = ()
    source_tokens: tuple[str, ...] = ()
    """With what surrounds them in the model (language tag, </s>): the columns of `attention`."""
    alignment: tuple[tuple[int, int], ...] = ()
    """(word of the source, word of the translation), from 0; words are those between white space (`str.split`)."""
    attention: tuple[tuple[float, ...], ...] = ()
    """A row for each of `tokens`, </s> last, and a column for each of `source_tokens`."""
    confidence: float | None = None
    """Probability that the translation is good, from the run's calibration."""
    word_confidence: tuple[float, ...] = ()
    """Probability that each word of the translation is right."""
    alarms: tuple[str, ...] = ()
    """What is visibly wrong, in words."""
    terms: tuple[UsedTerm, ...] = ()
    """The terms of the glossary that are in the source, and what became of each."""


@dataclass(frozen=True)
class Answer:
    """The translation of one text. Everything between its sentences is as in the text given, byte for byte."""

    text: str
    source: str
    """Code of the language that it was translated from, given or detected."""
    target: str
    model: str
    """Name of the model that translated."""
    score: float = 0.0
    """The sum of the scores of its sentences."""
    detection: Detection | None = None
    """What was detected, if the call did not say."""
    alternatives: tuple[Alternative, ...] = ()
    """Best first; empty unless `n_best` asked for them. None equals `text` or another one."""
    sentences: tuple[Sentence, ...] = ()

    @property
    def confidence(self) -> float | None:
        """The lowest confidence among its sentences; None if none has any."""
        return min((one.confidence for one in self.sentences if one.confidence is not None), default=None)


@dataclass(frozen=True)
class Progress:
    """An event of a stream: what one text has come to."""

    number: int
    """Which of the texts of the call, from 0."""
    text: str
    """The whole text so far: its sentences grow side by side, and those that are not complete may still change."""
    answer: Answer | None = None
    """The complete answer, in the last event of the text."""


@dataclass(frozen=True)
class Model:
    """A model that a service offers."""

    name: str
    directions: tuple[tuple[str, str], ...]
    """Codes of source and target languages, the usual pair first."""
    loaded: bool = False
    attends: bool | None = None
    """Whether it can show attention; None while that is not known."""
    explorable: bool | None = None
    """Whether one can look into it and change what it does; None while that is not known."""


@runtime_checkable
class Service(Protocol):
    """Translates for many callers at once. Every method may raise a ServiceError, or InputError for text that no model takes."""

    @property
    def draining(self) -> bool:
        """Whether it takes no more requests, because it ends; those in progress may go on calling it."""
        ...

    def languages(self) -> Mapping[str, frozenset[str]]:
        """Return into which languages each source language is translated, by any model."""
        ...

    def models(self) -> tuple[Model, ...]:
        """Return the models, the preferred ones first."""
        ...

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return figures of each model in memory, by names: what it has done since it was loaded, as `sentences_total`, and what
        it holds now, as `waiting`.
        """
        ...

    def detect(self, text: str) -> list[Detection]:
        """Return the languages served, of sources and of translations, that a text may be in, likeliest first, and before them
        another one if it is likelier; none if it has no letters.
        """
        ...

    async def translate(self, call: Call) -> list[Answer]:
        """Translate each text, in their order. If the task is cancelled, the search is cancelled too."""
        ...

    def stream(self, call: Call) -> AsyncIterator[Progress]:
        """Translate, and yield what has been written as it grows. Closing the iterator cancels the search."""
        ...

    async def compute(self, model: str | None, work: Callable[[Any], Result]) -> Result:
        """Run `work` with the `workers.TorchWorker` of a model (None: the first) in the thread of its engine.

        For everything that looks into a model: attention maps, forced prefixes, one step at a time. It waits for its turn
        between batches, so it should be short; if the task is cancelled, a search ends at its next step. InputError for an
        export, which has no model to look into.
        """
        ...


@runtime_checkable
class Gate(Protocol):
    """Decides who may translate how much: keys, rates and quotas."""

    async def recognise(self, request: Any, *, in_body: bool = False) -> None:
        """Let a request pass whose caller is known, or raise a ServiceError. Nothing is counted.

        Called before a body is read, and again before a document in it is opened. With `in_body`, what tells the caller may
        still be in the body.
        """
        ...

    async def admit(self, request: Any, characters: int) -> None:
        """Let a request of so many characters of text pass, or raise a ServiceError. `request` is Starlette's `Request`.

        Called once per request, by its route, after the text is known and before anything is translated; with 0
        characters by routes that translate nothing.
        """
        ...

    async def refund(self, request: Any, characters: int) -> None:
        """Take back what `admit` counted for a request that the service then refused because it was busy."""
        ...


class OpenGate:
    """Lets everybody pass."""

    async def recognise(self, request: Any, *, in_body: bool = False) -> None:
        """Let the request pass."""

    async def admit(self, request: Any, characters: int) -> None:
        """Let the request pass."""

    async def refund(self, request: Any, characters: int) -> None:
        """Take nothing back: nothing was counted."""


class ServiceError(DragomanError):
    """A call that a service refuses; `status` is the usual HTTP status of the answer, `code` a stable name for programs."""

    status = 400
    code = "invalid_request"
    retry_after: float | None = None
    """After how many seconds it may be tried again."""


class UnsupportedError(ServiceError):
    """Something that this model cannot be asked for, whatever the text."""

    code = "unsupported"


class UnknownLanguageError(ServiceError):
    """A language, or a pair of languages, that no model translates."""

    code = "unknown_language"

    def __init__(self, message: str, *, source: str | None, target: str | None) -> None:
        super().__init__(message)
        self.source = source
        """The source language, if that is (part of) what is unknown."""
        self.target = target
        """The target language, if that is (part of) what is unknown."""


class UnknownModelError(ServiceError):
    """A model that is not served."""

    status = 404
    code = "unknown_model"


class ForbiddenError(ServiceError):
    """A caller who may not do this."""

    status = 403
    code = "forbidden"


class TooLargeError(ServiceError):
    """More texts, characters or bytes than a limit allows."""

    status = 413
    code = "too_large"

    def __init__(self, message: str, *, size: int, limit: int) -> None:
        super().__init__(message)
        self.size = size
        self.limit = limit


class OverloadedError(ServiceError):
    """More work than fits into the queue, or more than a caller may ask for in a time."""

    status = 429
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelError(ServiceError):
    """A model that cannot be loaded or does not work; the log of the service says why."""

    status = 500
    code = "model_error"


class UnavailableError(ServiceError):
    """Something that the service needs and that does not answer now; the log of the service says what."""

    status = 503
    code = "unavailable"
    retry_after = 5.0


class TooSlowError(ServiceError):
    """A translation that was not ready in time."""

    status = 504
    code = "too_slow"


class ShuttingDownError(ServiceError):
    """A service that takes no more requests, because it ends."""

    status = 503
    code = "shutting_down"
    retry_after = 5.0

    def __init__(self) -> None:
        super().__init__("the service is shutting down; try another server, or again later")
