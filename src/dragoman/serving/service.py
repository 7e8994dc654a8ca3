"""The service itself: limits, languages, deadlines, and the way from texts to answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any

from dragoman.errors import InputError
from dragoman.serving.assembly import Draft
from dragoman.serving.detection import Detector, fitting
from dragoman.serving.engine import Engine, Listener
from dragoman.serving.interface import (
    Answer,
    Call,
    Detection,
    Model,
    Progress,
    Result,
    TooLargeError,
    TooSlowError,
    UnknownLanguageError,
)
from dragoman.serving.jobs import Job
from dragoman.serving.models import Models, Offer
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.workers import TorchWorker, Worker


class TranslationService:
    """Translates for many callers with some models. Belongs to one event loop; an `interface.Service`."""

    def __init__(self, models: Models, settings: ServiceSettings) -> None:
        self.offered = models
        self.settings = settings
        self._draining = False

    def languages(self) -> Mapping[str, frozenset[str]]:
        """Return into which languages each source language is translated, by any model."""
        return self.offered.languages

    def models(self) -> tuple[Model, ...]:
        """Return the models, the preferred ones first."""
        return tuple(
            Model(offer.name, offer.listed, name in self.offered.engines, offer.attends, offer.explorable)
            for name, offer in self.offered.offers.items()
        )

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return figures of each model in memory: what it has done since it was loaded (`..._total`), and what it holds now."""
        return {name: _figures(engine) for name, engine in self.offered.engines.items()}

    def detect(self, text: str) -> list[Detection]:
        """Return the languages served that a text may be in, likeliest first, and before them another one if it is likelier; none
        if it has no letters.
        """
        return self._detector.detect(text)

    async def translate(self, call: Call) -> list[Answer]:
        """Translate each text, in their order. If the task is cancelled, the search is cancelled too."""
        return await self._translate(call)

    async def stream(self, call: Call) -> AsyncIterator[Progress]:
        """Translate, and yield what has been written as it grows. Closing the iterator cancels the search."""
        news: dict[int, str] = {}
        changed = asyncio.Event()

        def tell(number: int, text: str) -> None:
            news[number] = text
            changed.set()

        task = asyncio.create_task(self._translate(call, tell))
        task.add_done_callback(lambda _: changed.set())
        try:
            while not task.done():
                await changed.wait()
                changed.clear()
                latest = dict(news)
                news.clear()
                for number, text in latest.items():
                    yield Progress(number, text)
            for number, answer in enumerate(await task):
                yield Progress(number, answer.text, answer)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task

    async def compute(self, model: str | None, work: Callable[[Any], Result]) -> Result:
        """Run `work` with the `workers.TorchWorker` of a model (None: the first) in the thread of its engine."""

        def with_worker(worker: Worker) -> Result:
            if not isinstance(worker, TorchWorker):
                raise InputError("an export has no model to look into; serve the run it was made from")
            return work(worker)

        async with self._deadline(), self.offered.lease(self.offered.offer(model)) as engine:
            return await engine.compute(with_worker)

    @property
    def draining(self) -> bool:
        """Whether it takes no more requests, because it ends; those in progress may go on calling it."""
        return self._draining

    def drain(self) -> None:
        """Let no further requests in; those in progress go on."""
        self._draining = True

    async def close(self) -> None:
        """Finish what is in progress, and end."""
        self.drain()
        await self.offered.close()

    @cached_property
    def _detector(self) -> Detector:
        """The detector of the languages served."""
        return Detector(tuple(self.offered.languages), sorted(frozenset().union(*self.offered.languages.values())))

    async def _translate(self, call: Call, tell: Callable[[int, str], None] | None = None) -> list[Answer]:
        """Translate each text; `tell`, if given, hears the number of a text and what it has come to."""
        self._require_size(call)
        async with self._deadline():
            drafts = await self._drafts(call)
            answers: dict[int, Answer] = {}
            for offer in dict.fromkeys(offer for _, offer in drafts):
                rows = [row for row, (_, chosen) in enumerate(drafts) if chosen is offer]
                own = [drafts[row][0] for row in rows]
                async with self.offered.lease(offer) as engine:
                    found = await _translated(engine, own, call, listening=_listening(own, rows, tell))
                answers |= dict(zip(rows, found, strict=True))
        return [answers[row] for row in range(len(drafts))]

    async def _drafts(self, call: Call) -> list[tuple[Draft, Offer]]:
        """Return each text cut into sentences, with the model that translates it; one in the target language has none."""
        detected = await asyncio.to_thread(self._detected, call) if call.source is None else {}
        drafts = []
        for text in call.texts:
            detection = detected.get(text)
            source = call.source if detection is None else detection.language
            if detection is not None and source == call.target:
                offer = self.offered.choose(self._sources(call)[0], call.target, call.model)
                drafts.append((Draft(text, source, call.target, offer.name, detection, ()), offer))
                continue
            assert source is not None
            offer = self.offered.choose(source, call.target, call.model)
            between = (source, call.target)
            drafts.append((Draft.of(text, between, call.options, model=offer.name, detection=detection), offer))
        return drafts

    def _detected(self, call: Call) -> dict[str, Detection]:
        """Return what language each text is in: the likeliest that is translated into the target, or the target itself.

        UnknownLanguageError for a text that is surely in another language.
        """
        sources = self._sources(call)
        found: dict[str, Detection] = {}
        for text in dict.fromkeys(call.texts):
            likely = self._detector.detect(text)
            found[text] = next(iter(fitting(likely, sources) or likely), Detection(sources[0], 0.0))
            if (language := found[text].language) not in (*sources, call.target):
                raise UnknownLanguageError(
                    f"text {call.texts.index(text) + 1} seems to be in `{language}`, which is not translated into "
                    f"`{call.target}` here; name its `source` if it is in another language, or another `target`",
                    source=language,
                    target=call.target,
                )
        return found

    def _sources(self, call: Call) -> list[str]:
        """Return the languages that are translated into the target of a call. UnknownLanguageError if there are none."""
        offers, where = self.offered.asked(call.model)
        found = [source for offer in offers for source, target in offer.listed if target == call.target]
        if found:
            return found
        targets = sorted({target for offer in offers for _, target in offer.listed})
        raise UnknownLanguageError(
            f"nothing is translated into `{call.target}` {where}; target languages are {', '.join(targets)}",
            source=None,
            target=call.target,
        )

    def _require_size(self, call: Call) -> None:
        """Raise TooLargeError for a call beyond the limits."""
        characters = sum(map(len, call.texts)) + len(call.options.context)
        widest = max(call.options.n_best, call.options.beam or 1)
        for name, size, limit in (
            ("texts", len(call.texts), self.settings.max_texts),
            ("characters", characters, self.settings.max_characters),
            ("translations or hypotheses of a text", widest, self.settings.max_n_best),
        ):
            if size > limit:
                raise TooLargeError(
                    f"the request asks for {size:,} {name}, but {limit:,} are allowed; send less at a time",
                    size=size,
                    limit=limit,
                )

    def _deadline(self) -> "_Deadline":
        """Return what limits the time of a call."""
        return _Deadline(self.settings.timeout_s)


class _Deadline:
    """Cancels what takes longer than some seconds, and raises TooSlowError instead of TimeoutError."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise TooSlowError(
                f"the translation was not ready after {self.seconds:g} seconds; send less text at a time, or try again later"
            ) from None


async def _translated(
    engine: Engine, drafts: Sequence[Draft], call: Call, *, listening: Sequence[Callable[[int], Listener]]
) -> list[Answer]:
    """Return the answers of texts that one engine translates."""
    settings = engine.worker.settings(call.options)

    def cut() -> list[list[Job]]:
        return [draft.jobs(settings, call.options, engine.worker.previous) for draft in drafts]

    jobs = cut() if call.options.glossary is None else await asyncio.to_thread(cut)  # terms take time to look for
    listeners = [listen(row) for listen, some in zip(listening, jobs, strict=False) for row in range(len(some))]
    found = iter(await engine.translate([job for some in jobs for job in some], listeners))
    return [draft.answer([next(found) for _ in some]) for draft, some in zip(drafts, jobs, strict=True)]


def _figures(engine: Engine) -> dict[str, float]:
    """Return the figures of one engine."""
    done = asdict(engine.figures)
    now = {"largest_batch": done.pop("largest"), "waiting": engine.waiting, "cache_bytes": engine.memory.used}
    return {**{f"{name}_total": amount for name, amount in done.items()}, **now}


def _listening(
    drafts: Sequence[Draft], rows: Sequence[int], tell: Callable[[int, str], None] | None
) -> list[Callable[[int], Listener]]:
    """Return for each text what makes a listener of its n-th sentence; nothing if nobody wants to hear."""
    if tell is None:
        return []
    return [_Growing(draft, partial(tell, row)).listener for draft, row in zip(drafts, rows, strict=True)]


class _Growing:
    """A text as its sentences are written."""

    def __init__(self, draft: Draft, tell: Callable[[str], None]) -> None:
        self.draft = draft
        self.tell = tell
        moving = set(draft.translated)
        self.written = ["" if number in moving else part.text for number, part in enumerate(draft.parts)]

    def listener(self, number: int) -> Listener:
        """Return what listens to the n-th sentence that is translated."""
        place = self.draft.translated[number]

        def listen(text: str) -> None:
            self.written[place] = text
            self.tell(self.draft.joined(self.written))

        return listen
