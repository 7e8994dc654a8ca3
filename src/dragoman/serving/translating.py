"""What every shape does with texts: count them, ask the gate, detect, translate with and without tags."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from starlette.requests import Request

from dragoman.documents.alignment import Alignment
from dragoman.documents.mending import mend
from dragoman.documents.placeholders import placeholders
from dragoman.serving.app import gate_of, note_texts, service_of
from dragoman.serving.detection import fitting
from dragoman.serving.formatting import has_words
from dragoman.serving.glossaries import with_terms
from dragoman.serving.interface import (
    Answer,
    Call,
    Detection,
    Service,
    ServiceError,
    ShuttingDownError,
    TooLargeError,
    UnknownLanguageError,
    UnknownModelError,
    UnsupportedError,
)
from dragoman.serving.markup import TagRules, Written, alignment_of, read_markup
from dragoman.serving.settings import ServiceSettings
from dragoman.text.glossary import Glossary

UNKNOWN = "en"
"""The language that a text without letters is said to be in, as LibreTranslate does."""


@dataclass(frozen=True)
class Translated:
    """One text, translated."""

    text: str
    source: str
    answer: Answer | None = None
    """What the service answered; None for a text of which it was not asked, and for one with tags."""
    mended: int = 0
    """Number of elements that could not be placed by the alignment alone."""


def check_size(texts: Sequence[str], settings: ServiceSettings) -> int:
    """Return the number of characters of some texts. TooLargeError for more of them, or more texts, than there may be."""
    if len(texts) > settings.max_texts:
        raise TooLargeError(
            f"{len(texts)} texts are too many; send at most {settings.max_texts} at once",
            size=len(texts),
            limit=settings.max_texts,
        )
    characters = sum(map(len, texts))
    if characters > settings.max_characters:
        raise TooLargeError(
            f"{characters} characters are too many; send at most {settings.max_characters} at once",
            size=characters,
            limit=settings.max_characters,
        )
    return characters


async def admit(request: Request, texts: Sequence[str], characters: int) -> None:
    """Note the texts of a request, and let it pass the gate, which counts so many characters. ShuttingDownError once it is late:
    what has passed is translated to the end, however many calls that takes.
    """
    if service_of(request).draining:
        raise ShuttingDownError
    note_texts(request, texts)
    await gate_of(request).admit(request, characters)


@asynccontextmanager
async def refunded(request: Request, characters: int) -> AsyncIterator[None]:
    """Take back what the gate counted for a request if it gets no translation, unless its sender did not wait for it."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and not service_of(request).draining:
            raise
        refund = asyncio.ensure_future(gate_of(request).refund(request, characters))
        while not refund.done():  # a stream that ends is cancelled at every wait
            with suppress(asyncio.CancelledError):
                await asyncio.shield(refund)
        raise


@asynccontextmanager
async def admitted(request: Request, texts: Sequence[str], characters: int) -> AsyncIterator[None]:
    """Let a request pass (`admit`), and take back what was counted if the service cannot answer it (`refunded`)."""
    await admit(request, texts, characters)
    async with refunded(request, characters):
        yield


async def detect(service: Service, texts: Sequence[str]) -> list[Detection]:
    """Return the languages that some texts together may be in, likeliest first."""
    return await asyncio.to_thread(service.detect, "\n".join(texts))


def sources_of(service: Service, target: str) -> set[str]:
    """Return the languages that are translated into `target`."""
    return {source for source, targets in service.languages().items() if target in targets}


async def likely_source(
    service: Service, texts: Sequence[str], target: str, *, sources: Collection[str] | None = None
) -> str:
    """Return the language that texts together are taken to be in: the likeliest of `sources`, by default of `target` and those
    translated into it, unless they are surely in another.
    """
    known = sources_of(service, target) if sources is None else sources
    likely = await detect(service, texts)
    found = fitting(likely, {target, *known} if sources is None else known) or likely
    return found[0].language if found else min(known, default=UNKNOWN)


def only_served(service: Service, found: Sequence[Detection]) -> list[Detection]:
    """Return those of the detected languages that are served, of sources and of translations."""
    served = {code for pair in pairs_of(service) for code in pair}
    return [one for one in found if one.language in served]


def pairs_of(service: Service, model: str | None = None) -> set[tuple[str, str]]:
    """Return the pairs of languages that a model translates, or all of them do. UnknownModelError if there is no such model."""
    models = service.models()
    if model is not None and model not in (one.name for one in models):
        raise UnknownModelError(f"there is no model `{model}` here; there are {', '.join(one.name for one in models)}")
    return {pair for one in models if model in (None, one.name) for pair in one.directions}


async def resolved(service: Service, call: Call, texts: Sequence[str]) -> Call:
    """Return a call whose source, if it is not said, is the language that its texts are in. Raises errors before any is counted.

    UnknownModelError, UnknownLanguageError for a pair that is not translated, or ServiceError for one of equal languages.
    """
    pairs = pairs_of(service, call.model)
    sources = {source for source, target in pairs if target == call.target}
    source = call.source or await likely_source(service, texts, call.target, sources=sources)
    if source == call.target:
        raise ServiceError(
            f"the texts are to be translated into their own language, `{source}`; name another `target`, or their `source` if "
            "it is another one"
        )
    if (source, call.target) not in pairs:
        raise UnknownLanguageError(
            f"`{source}` is not translated into `{call.target}` by {f'`{call.model}`' if call.model else 'this service'}; "
            "/v1/languages lists what is",
            source=source,
            target=call.target,
        )
    return replace(call, source=source)


async def without_tags(texts: Sequence[str], rules: TagRules | None) -> list[str]:
    """Return texts without their tags, if tags mean anything: which language a text is in, its words alone tell."""
    if rules is None:
        return list(texts)
    return await asyncio.to_thread(lambda: ["\n".join(read_markup(text, rules).texts) for text in texts])


async def by_language(
    service: Service,
    call: Call,
    ask: Callable[[Call], Awaitable[list[Translated]]],
    *,
    rules: TagRules | None = None,
) -> list[Translated]:
    """Translate texts of which each may be in a language of its own, those of one language together."""
    if call.source is not None:
        return await ask(call)
    seen = await without_tags(call.texts, rules)
    sources = [await likely_source(service, [text], call.target) for text in seen]
    found: dict[int, Translated] = {}
    for source in dict.fromkeys(sources):
        own = [number for number, one in enumerate(sources) if one == source]
        answers = await ask(replace(call, source=source, texts=tuple(call.texts[number] for number in own)))
        found.update(zip(own, answers, strict=True))
    return [found[number] for number in range(len(sources))]


async def translate(service: Service, call: Call, terms: Mapping[str, str] | None = None) -> list[Translated]:
    """Translate texts, with their placeholders and the terms of a glossary.

    Those without a letter or a digit stay as they are, and so do all if the languages are the same.
    """
    asked = [number for number, text in enumerate(call.texts) if has_words(text) and call.source != call.target]
    left = replace(call, texts=tuple(call.texts[one] for one in asked))
    known = dict(zip(asked, await _answers(service, left, terms), strict=True))
    return [
        Translated(known[number].text, known[number].source, known[number])
        if number in known
        else Translated(text, call.source or UNKNOWN)
        for number, text in enumerate(call.texts)
    ]


async def _answers(service: Service, call: Call, terms: Mapping[str, str] | None) -> list[Answer]:
    """Return the answers of a service with all terms and placeholders; those that it leaves unmet are put where the links say."""
    if not call.texts:
        return []
    if not terms and not any(map(_holds, call.texts)):
        return await service.translate(call)
    answers = await translate_aligned(service, call, terms)
    alignments = await _completed(call.texts, answers, terms)
    return [replace(answer, text=one.target) for answer, one in zip(answers, alignments, strict=True)]


def _holds(text: str) -> bool:
    """Tell whether a text has placeholders that are no numbers, which programs look for in its translation."""
    return any(not one.is_number for one in placeholders(text))


async def _completed(
    texts: Sequence[str], answers: Sequence[Answer], terms: Mapping[str, str] | None
) -> list[Alignment]:
    """Return translations with terms and placeholders. A thread looks for them: that takes time, and others wait for the loop."""

    def look() -> list[Alignment]:
        glossary = Glossary.in_any_case(terms or {})
        found = [with_terms(alignment_of(text, answer), glossary) for text, answer in zip(texts, answers, strict=True)]
        return [mend(one).alignment if _holds(text) else one for text, one in zip(texts, found, strict=True)]

    return await asyncio.to_thread(look)


async def translate_marked(
    service: Service, call: Call, rules: TagRules, *, terms: Mapping[str, str] | None = None, most: int = 1000
) -> list[Translated]:
    """Translate texts with tags, up to `most` of their blocks in one call."""
    marked = await asyncio.to_thread(lambda: [read_markup(text, rules) for text in call.texts])
    texts = tuple(text for one in marked for text in one.texts)
    if not texts or call.source == call.target:
        return [Translated(text, call.source or UNKNOWN) for text in call.texts]
    portions = [texts[start : start + most] for start in range(0, len(texts), most)]
    answers = [
        answer for some in portions for answer in await translate_aligned(service, replace(call, texts=some), terms)
    ]
    alignments = await _completed(texts, answers, terms)
    results, done = [], 0
    for one in marked:
        end = done + len(one.texts)
        written = await asyncio.to_thread(one.written, alignments[done:end]) if end > done else Written(one.markup, 0)
        source = answers[done].source if end > done else call.source or UNKNOWN
        results.append(Translated(written.text, source, mended=written.mended))
        done = end
    return results


async def translate_aligned(service: Service, call: Call, terms: Mapping[str, str] | None = None) -> list[Answer]:
    """Translate texts, with terms if there are any, and align their words; without what the model cannot do of both."""
    glossary = Glossary.in_any_case(terms) if terms else None
    chosen = next(
        (model for model in service.models() if call.model in (None, model.name) and _may(model.directions, call)), None
    )
    attends = chosen is None or chosen.attends is not False
    *wanted, least = (
        replace(call, options=replace(call.options, alignment=alignment, glossary=some))
        for alignment, some in dict.fromkeys(((attends, glossary), (attends, None), (False, glossary), (False, None)))
    )
    for one in wanted:
        with suppress(UnsupportedError):
            return await service.translate(one)
    return await service.translate(least)


def _may(directions: Sequence[tuple[str, str]], call: Call) -> bool:
    """Tell whether a model translates what a call asks for."""
    return any(target == call.target and call.source in (None, source) for source, target in directions)
