"""One model for many callers: sentences of all calls wait in one queue and are translated in batches, by one thread.

A batch starts when it is full, or when its oldest sentence has waited for `EngineSettings.wait_ms`; where the last batch had one
sentence, nobody seems to come along, and the next does not wait. Sentences of one batch share their decoding settings and, as far
as the queue allows, their length. A sentence that is already on its way, or was translated lately, is not translated again. One
that nobody waits for any more is given up at the next step of search. If a batch fails, each of its sentences is tried alone, so
that only the one at fault fails.

Everything but `_Thread` runs in the event loop, so that it needs no locks.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dragoman.decoding.hypotheses import SearchStep
from dragoman.inference.exploring.recording import ending_when
from dragoman.serving.interface import OverloadedError, Result, ShuttingDownError
from dragoman.serving.jobs import Found, Job
from dragoman.serving.memory import Memory
from dragoman.serving.settings import EngineSettings
from dragoman.serving.workers import Worker

IDLE_SECONDS = 1.0
"""So long a thread waits for more to do before it ends; to start one anew takes about a millisecond."""

Listener = Callable[[str], None]
"""Is told, in the event loop, what a sentence has come to."""


@dataclass(eq=False)
class Flight:
    """A job on its way, and those who wait for it."""

    job: Job
    loop: asyncio.AbstractEventLoop
    since: float
    result: "asyncio.Future[Found]"
    waiting: int = 0
    listeners: list[Listener] = field(default_factory=list)
    abandoned: bool = False
    encoded: Any = None

    @property
    def cells(self) -> int:
        """How many tokens a row of it takes in a batch: its length times the hypotheses."""
        return int(self.encoded.width) * self.job.settings.hypotheses


@dataclass
class Figures:
    """What an engine has done, for `/metrics`."""

    batches: int = 0
    sentences: int = 0
    seconds: float = 0.0
    remembered: int = 0
    """Sentences that were translated lately."""
    shared: int = 0
    """Sentences that were already on their way."""
    given_up: int = 0
    largest: int = 0
    """Sentences of the largest batch."""


class Engine:
    """The queue of one model. Belongs to one event loop."""

    def __init__(self, worker: Worker, settings: EngineSettings, memory: "Memory[Found] | None" = None) -> None:
        self.worker = worker
        self.settings = settings
        self.figures = Figures()
        self.memory: Memory[Found] = Memory(settings.cache_mb * 1e6) if memory is None else memory
        self._flights: dict[Job, Flight] = {}
        self._computing: set[threading.Event] = set()
        self._closed = False
        self._thread = _Thread(worker, settings, self.figures)

    @property
    def waiting(self) -> int:
        """How many sentences are on their way."""
        return len(self._flights)

    async def translate(self, jobs: Sequence[Job], listeners: Sequence[Listener | None] = ()) -> list[Found]:
        """Translate each job; `listeners`, if any, are told what each has come to.

        OverloadedError if the queue has no room for all. If the task is cancelled, the jobs are given up. The first
        error of a job is raised.
        """
        if self._closed:
            raise ShuttingDownError
        self._require_room(jobs)
        new: list[Flight] = []
        flights = [self._take(job, new) for job in jobs]
        under_way = [flight for flight in flights if isinstance(flight, Flight)]
        for flight, listener in zip(flights, listeners or [None] * len(jobs), strict=True):
            if listener is None:
                continue
            if isinstance(flight, Flight):
                flight.listeners.append(listener)
            elif under_way:  # others are still written beside it
                listener(flight.best.text)
        try:
            if new:
                self._thread.add(new)
            for flight in under_way:
                await asyncio.shield(flight.result)
        finally:
            for flight in under_way:
                self._leave(flight)
        return [flight.result.result() if isinstance(flight, Flight) else flight for flight in flights]

    async def compute(self, work: Callable[[Worker], Result]) -> Result:
        """Run `work` in the thread of the engine, between two batches. If the task is cancelled, its search is given up."""
        if self._closed:
            raise ShuttingDownError
        given_up = threading.Event()
        self._computing.add(given_up)

        def stoppable(worker: Worker) -> Result:
            with ending_when(given_up.is_set):
                return work(worker)

        try:
            return await asyncio.wrap_future(self._thread.between(stoppable))
        finally:
            given_up.set()
            self._computing.discard(given_up)

    async def close(self) -> None:
        """Finish the translations that are on their way, give up what looks into the model, and end the thread."""
        self._closed = True
        for given_up in self._computing:
            given_up.set()
        self._thread.end()
        await asyncio.to_thread(self._thread.join)

    def _require_room(self, jobs: Sequence[Job]) -> None:
        """Raise OverloadedError if the queue has no room for what is new of some jobs; a call that is alone always fits."""
        new = len({job for job in jobs if job not in self._flights})
        if self._flights and len(self._flights) + new > self.settings.queue_sentences:
            pace = self.figures.sentences / self.figures.seconds if self.figures.seconds else 10.0
            seconds = min(60.0, max(1.0, len(self._flights) / pace))
            raise OverloadedError(
                f"{len(self._flights):,} sentences are waiting, and there is no room for {new:,} more; try again in "
                f"{seconds:.0f} seconds",
                retry_after=seconds,
            )

    def _take(self, job: Job, new: list[Flight]) -> Flight | Found:
        """Return the translation of a job if it is known, or its way there, on which one more waits; add it to the `new` ones."""
        known = self.memory.get(job)
        if known is not None:
            self.figures.remembered += 1
            return known
        flight = self._flights.get(job)
        if flight is None:
            loop = asyncio.get_running_loop()
            flight = self._flights[job] = Flight(job, loop, time.monotonic(), loop.create_future())
            flight.result.add_done_callback(lambda done: self._arrived(flight, done))
            new.append(flight)
        else:
            self.figures.shared += 1
        flight.waiting += 1
        return flight

    def _arrived(self, flight: Flight, done: "asyncio.Future[Found]") -> None:
        """Remember a translation."""
        self._forget(flight)
        if not done.cancelled() and done.exception() is None:
            self.memory.put(flight.job, done.result())

    def _forget(self, flight: Flight) -> None:
        """Let nobody else wait for a flight."""
        if self._flights.get(flight.job) is flight:
            del self._flights[flight.job]

    def _leave(self, flight: Flight) -> None:
        """Wait for a job no longer; the last one gives it up."""
        flight.waiting -= 1
        if not flight.waiting and not flight.result.done():
            flight.abandoned = True
            self._forget(flight)  # at once, or one who comes now would wait for what is given up
            self.figures.given_up += 1
            flight.result.cancel()


class _Watch:
    """Gives up what nobody waits for, and tells listeners how far their sentences have come."""

    def __init__(self, flights: Sequence[Flight], spell: Callable[[list[int]], str]) -> None:
        self.flights = flights
        self.spell = spell

    def abandoned(self) -> set[int]:
        """Return what nobody waits for."""
        return {row for row, flight in enumerate(self.flights) if flight.abandoned}

    def see(self, step: SearchStep) -> None:
        """Tell listeners the best hypothesis of their sentences."""
        heard = [(row, flight) for row, flight in enumerate(self.flights) if flight.listeners and not flight.abandoned]
        if not heard:
            return
        found = step.open_hypotheses()
        for row, flight in heard:
            best = max((*step.completed.get(row, ()), *found.get(row, ())), key=lambda one: one.score, default=None)
            if best is not None:
                flight.loop.call_soon_threadsafe(_tell, flight, self.spell(best.ids))


class _Thread:
    """The thread that translates, until there has been nothing to translate for IDLE_SECONDS.

    With it end the OpenMP threads that torch started for it, which would slow down those of other engines.
    """

    def __init__(self, worker: Worker, settings: EngineSettings, figures: Figures) -> None:
        self.worker = worker
        self.settings = settings
        self.figures = figures
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        """The last one; a new one takes over from what has ended."""
        self._runs = False
        self._new: list[Flight] = []
        self._works: list[tuple[Callable[[Worker], Any], Future[Any]]] = []
        self._ending = False
        self._waiting: list[Flight] = []  # belongs to the thread, like what follows
        self._alone = True

    def add(self, flights: Sequence[Flight]) -> None:
        """Put the jobs of a call into the queue, all at once, so that none of them starts without the others."""
        with self._changed:
            self._new += flights
            self._wake()

    def between(self, work: Callable[[Worker], Any]) -> "Future[Any]":
        """Do something between two batches."""
        future: Future[Any] = Future()
        with self._changed:
            self._works.append((work, future))
            self._wake()
        return future

    def end(self) -> None:
        """Let what is left wait for no company."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def join(self) -> None:
        """Wait until nothing is left to do."""
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        """Let the thread see what is new; belongs to the condition."""
        if not self._runs:
            thread = threading.Thread(target=self._run, name="dragoman-engine", daemon=True)
            thread.start()  # RuntimeError if the machine has no room for it
            self._thread, self._runs = thread, True
        else:
            self._changed.notify()

    def _run(self) -> None:
        """Work until nothing is left to do."""
        while self._receive():
            now = time.monotonic()
            batch, full = choose(self._waiting, self.settings.batch_tokens)
            if batch and (full or self._alone or self._ending or now >= self._deadline(batch)):
                gone = set(map(id, batch))
                self._waiting = [flight for flight in self._waiting if id(flight) not in gone]
                self._alone = len(batch) == 1 and not self._waiting
                self._translate(batch)

    def _deadline(self, batch: Sequence[Flight]) -> float:
        """Return when a batch starts at the latest."""
        return min(flight.since for flight in batch) + self.settings.wait_ms / 1000

    def _receive(self) -> bool:
        """Wait for what is new or due, and take it in; return False if there is nothing to wait for."""
        with self._changed:
            while not (self._new or self._works or self._ending or self._alone) and self._waiting:
                left = self._deadline(self._waiting) - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if not (self._new or self._works or self._waiting or self._ending):
                self._changed.wait(IDLE_SECONDS)
            if not (self._new or self._works or self._waiting):
                self._runs = False
                return False
            new, self._new = self._new, []
            works, self._works = self._works, []
        for work, future in works:
            if future.set_running_or_notify_cancel():
                _settle(future, lambda work=work: work(self.worker))  # type: ignore[misc]
        self._waiting = [flight for flight in (*self._waiting, *filter(self._encode, new)) if not flight.abandoned]
        return True

    def _encode(self, flight: Flight) -> bool:
        """Encode a job; tell whether the model can take it."""
        try:
            flight.encoded = self.worker.encode(flight.job)
        except Exception as error:
            _deliver([(flight, error)])
            return False
        return True

    def _translate(self, batch: Sequence[Flight]) -> None:
        """Translate a batch, or each of its sentences alone if that fails."""
        begun = time.monotonic()
        watch = _Watch(batch, self.worker.spell)
        try:
            found = self.worker.translate([one.job for one in batch], [one.encoded for one in batch], watch)
        except Exception as error:
            if len(batch) == 1:
                _deliver([(batch[0], error)])
            else:
                for flight in batch:
                    self._translate([flight])
            return
        self.figures.batches += 1
        self.figures.sentences += len(batch)
        self.figures.largest = max(self.figures.largest, len(batch))
        self.figures.seconds += time.monotonic() - begun
        _deliver(list(zip(batch, found, strict=True)))


def choose(waiting: Sequence[Flight], budget: int) -> tuple[list[Flight], bool]:
    """Return the batch that the oldest flight is in, and whether it is full: its neighbours in length with equal settings."""
    if not waiting:
        return [], False
    oldest = min(waiting, key=lambda flight: flight.since)
    alike = [flight for flight in waiting if flight.job.settings == oldest.job.settings]
    alike.sort(key=lambda flight: (abs(flight.cells - oldest.cells), flight.since))
    alike.remove(oldest)
    batch, longest = [oldest], oldest.cells
    for flight in alike:
        longest = max(longest, flight.cells)
        if longest * (len(batch) + 1) > budget:
            return batch, True
        batch.append(flight)
    return batch, longest * (len(batch) + 1) > budget


def _tell(flight: Flight, text: str) -> None:
    """Tell listeners what a sentence has come to."""
    for listener in flight.listeners:
        listener(text)


def _deliver(results: Sequence[tuple[Flight, Found | Exception]]) -> None:
    """Give results to those who wait, in their event loop."""

    def give() -> None:
        for flight, result in results:
            if flight.result.done():
                continue
            if isinstance(result, Exception):
                flight.result.set_exception(result)
                flight.result.exception()  # those who left do not ask
            else:
                flight.result.set_result(result)

    with suppress(RuntimeError):  # the event loop has ended, and everybody with it
        results[0][0].loop.call_soon_threadsafe(give)


def _settle(future: "Future[Any]", work: Callable[[], Any]) -> None:
    """Do something and tell how it went."""
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
