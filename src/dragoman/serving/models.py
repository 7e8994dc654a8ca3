"""The models of a service: what they translate is known from the start, their weights are loaded on first use.

Where weights together exceed `ServiceSettings.memory_mb`, the model used longest ago finishes what it has begun and leaves.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dragoman.data.directions import Directions
from dragoman.documents.glossaries import read_glossary
from dragoman.errors import DragomanError, InputError
from dragoman.inference.ctranslate2.folder import is_export
from dragoman.inference.ctranslate2.translator import ExportedTranslator
from dragoman.inference.engines import EngineName, export_of, load_translator, only_export
from dragoman.machine.memory import free_memory
from dragoman.serving.engine import Engine
from dragoman.serving.interface import ModelError, UnknownLanguageError, UnknownModelError
from dragoman.serving.settings import EngineSettings
from dragoman.serving.workers import ExportWorker, TorchWorker, Worker

PACKED = 2
"""Models in torch take so many times the size of their weights: as read, and packed for the processor."""


@dataclass(frozen=True)
class Offer:
    """A model that can be loaded: a run, an export, or several runs that translate together."""

    name: str
    folders: tuple[Path, ...]
    directions: Directions
    attends: bool
    size: int
    """About how many bytes it takes in memory."""
    explorable: bool
    """Whether it is one run that torch reads, into which one can look."""

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The directions as a set."""
        return frozenset(self.directions.trained)

    @cached_property
    def listed(self) -> tuple[tuple[str, str], ...]:
        """The directions in order, the usual one first."""
        return tuple(dict.fromkeys((self.directions.first, *self.directions.trained)))


@dataclass
class _Loaded:
    """A model in memory."""

    engine: Engine
    size: int
    users: int = 0
    last: int = 0
    """When it was used last, counted in uses."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)


def read_offers(given: Sequence[str | Path], *, engine: EngineName = "torch", device: str = "auto") -> list[Offer]:
    """Read what each of some arguments offers: the folder of a run or export, or several runs joined by `+`.

    An inference engine on a device is what a `loader` will use. Raises RunError or InputError for what cannot be served. Names
    are those of folders, whole paths where two are alike.
    """
    paths = [_folders(str(one)) for one in given]
    short = ["+".join(path.resolve().name for path in some) for some in paths]
    names = [
        name if short.count(name) == 1 else "+".join(map(str, some)) for name, some in zip(short, paths, strict=True)
    ]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{repeated} is given twice; give each model once")
    return [_offer(name, some, engine=engine, device=device) for name, some in zip(names, paths, strict=True)]


def _folders(given: str) -> tuple[Path, ...]:
    """Return the folders that an argument names."""
    return (Path(given),) if Path(given).exists() else tuple(Path(part) for part in given.split("+"))


def _offer(name: str, folders: tuple[Path, ...], *, engine: EngineName, device: str) -> Offer:
    """Read what some folders offer together."""
    if exports := [folder for folder in folders if is_export(folder)]:
        export = only_export(folders, exports)
        size = sum(path.stat().st_size for path in folders[0].glob("model.*"))
        return Offer(name, folders, export.directions, attends=False, size=size, explorable=False)
    from dragoman.inference.session import check_same_text, open_runs
    from dragoman.models.capabilities import capabilities_of

    runs, _ = open_runs(folders, "translate", "cpu")
    for other in runs[1:]:
        check_same_text(runs[0], other)
    size = PACKED * sum(run.weights.stat().st_size for run in runs)
    attends = capabilities_of(runs[0].recipe.model).attends
    explorable = len(runs) == 1 and _read_by_torch(folders[0], engine, device)
    return Offer(name, folders, runs[0].directions, attends=attends, size=size, explorable=explorable)


def _read_by_torch(run: Path, engine: EngineName, device: str) -> bool:
    """Tell whether a `loader` reads a run itself, and not an export of it."""
    return engine == "torch" or device == "cuda" or (engine == "auto" and export_of(run, engine, {}) is None)


class Models:
    """The models of a service and their engines. Belongs to one event loop."""

    def __init__(
        self,
        offers: Sequence[Offer],
        load: Callable[[Offer], Worker],
        *,
        settings: EngineSettings,
        memory_mb: float | None = None,
    ) -> None:
        self.offers = {offer.name: offer for offer in offers}
        self.load = load
        self.settings = settings
        limit = (free_memory() or 0) / 2 if memory_mb is None else memory_mb * 1e6
        self.limit = limit
        """Bytes that models may take together."""
        self._loaded: dict[str, _Loaded] = {}
        self._arriving: dict[str, asyncio.Task[None]] = {}
        """What loads a model, for all that wait for it, also if the one that asked first gives up."""
        self._wanted = Counter[str]()
        """How many wait for each model."""
        self._loading = asyncio.Lock()
        self._uses = 0

    @property
    def engines(self) -> Mapping[str, Engine]:
        """Return the engines of the models in memory."""
        return {name: loaded.engine for name, loaded in self._loaded.items()}

    @cached_property
    def languages(self) -> Mapping[str, frozenset[str]]:
        """Return into which languages each source language is translated."""
        return _languages(self.offers.values())

    def asked(self, name: str | None) -> tuple[Collection[Offer], str]:
        """Return the model `name`, or all for None, and how a message calls them. UnknownModelError if there is none."""
        return (self.offers.values(), "by this service") if name is None else ([self.offer(name)], f"by `{name}`")

    def offer(self, name: str | None) -> Offer:
        """Return a model by its name, the first for None. UnknownModelError if there is none."""
        if name is None:
            return next(iter(self.offers.values()))
        if name not in self.offers:
            raise UnknownModelError(f"there is no model `{name}` here; there are {', '.join(self.offers)}")
        return self.offers[name]

    def choose(self, source: str, target: str, name: str | None = None) -> Offer:
        """Return the model `name`, or the first, that translates a pair. UnknownLanguageError, or UnknownModelError."""
        offers, where = self.asked(name)
        for offer in offers:
            if (source, target) in offer.pairs:
                return offer
        languages = _languages(offers)
        if source not in languages:
            raise UnknownLanguageError(
                f"`{source}` is not translated {where}; source languages are {', '.join(sorted(languages))}",
                source=source,
                target=None,
            )
        targets = sorted(languages[source])
        raise UnknownLanguageError(
            f"`{source}` is not translated into `{target}` {where}; target languages of `{source}` are {', '.join(targets)}",
            source=source if any(target in some for some in languages.values()) else None,
            target=target,
        )

    @asynccontextmanager
    async def lease(self, offer: Offer) -> AsyncIterator[Engine]:
        """Give the engine of a model, which is loaded first if need be and does not leave meanwhile."""
        self._wanted[offer.name] += 1
        try:
            while (loaded := self._loaded.get(offer.name)) is None:
                await asyncio.shield(self._arriving.get(offer.name) or self._begin_loading(offer))
            self._use(loaded)
        finally:
            self._wanted[offer.name] -= 1
        try:
            yield loaded.engine
        finally:
            loaded.users -= 1
            if not loaded.users:
                loaded.idle.set()

    async def close(self) -> None:
        """End all engines once they have finished what is on their way."""
        await asyncio.gather(*self._arriving.values(), return_exceptions=True)
        loaded, self._loaded = list(self._loaded.values()), {}
        await asyncio.gather(*(one.engine.close() for one in loaded))

    def _use(self, loaded: _Loaded) -> None:
        """Note that a model is used."""
        self._uses += 1
        loaded.users, loaded.last = loaded.users + 1, self._uses
        loaded.idle.clear()

    def _begin_loading(self, offer: Offer) -> asyncio.Task[None]:
        """Begin to load a model."""
        task = self._arriving[offer.name] = asyncio.create_task(self._load(offer))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # told to those that wait, if any do
        return task

    async def _load(self, offer: Offer) -> None:
        """Load a model, once there is room for it. ModelError if it cannot be loaded."""
        try:
            async with self._loading:
                await self._make_room(offer.size)
                with ThreadPoolExecutor(1) as passing:  # with it end the OpenMP threads that torch starts for it
                    worker = await asyncio.get_running_loop().run_in_executor(passing, self.load, offer)
                loaded = self._loaded[offer.name] = _Loaded(Engine(worker, self.settings), offer.size)
                loaded.idle.set()
        except DragomanError as error:
            raise ModelError(f"the model `{offer.name}` cannot be loaded; the log of the service says why") from error
        finally:
            del self._arriving[offer.name]

    async def _make_room(self, size: int) -> None:
        """Let models leave, the one used longest ago first, each once nobody uses it."""
        while self._loaded and size + sum(one.size for one in self._loaded.values()) > self.limit:
            name = min(self._loaded, key=lambda one: self._loaded[one].last)
            while self._wanted[name]:  # it has just arrived, and those that waited use it first
                await asyncio.sleep(0)
            leaving = self._loaded.pop(name)
            if leaving.users:
                await leaving.idle.wait()
            await leaving.engine.close()


def _languages(offers: Iterable[Offer]) -> dict[str, frozenset[str]]:
    """Return into which languages some models translate each source language."""
    found: dict[str, set[str]] = {}
    for offer in offers:
        for source, target in offer.directions.trained:
            found.setdefault(source, set()).add(target)
    return {source: frozenset(targets) for source, targets in found.items()}


def check_glossaries(paths: Sequence[Path], offers: Sequence[Offer], *, engine: EngineName) -> list[str]:
    """Return glossaries as a decoding setting. InputError if one cannot be read, or these models cannot keep to them."""
    pairs = {pair for offer in offers for pair in offer.pairs}
    if len(pairs) > 1:
        raise InputError(
            f"a glossary is for one pair of languages, but these models translate {len(pairs)}; serve one pair, or send "
            "`glossary` with each request"
        )
    exports = [offer.name for offer in offers if is_export(offer.folders[0])]
    if exports or engine == "ctranslate2":
        raise InputError(
            "an export cannot be made to write the terms of a glossary; serve the run that it was made from, with "
            "`--engine torch`"
        )
    for path in paths:
        read_glossary(path, *pairs)
    return [str(path) for path in paths]


def loader(*, engine: EngineName = "torch", device: str = "auto", **decoding: Any) -> Callable[[Offer], Worker]:
    """Return the function that loads models, with an inference engine on a device; keyword arguments change decoding settings."""

    def load(offer: Offer) -> Worker:
        chosen: EngineName = "auto" if is_export(offer.folders[0]) else engine
        translator = load_translator(*offer.folders, engine=chosen, device=device, **decoding)
        return ExportWorker(translator) if isinstance(translator, ExportedTranslator) else TorchWorker(translator)

    return load
