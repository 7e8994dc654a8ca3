"""A worker that needs no model: it translates by reversing, and notes what it was asked."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.directions import Directions
from dragoman.decoding.hypotheses import Hypothesis, SearchStep, Watch
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.serving.interface import Options, Sentence
from dragoman.serving.jobs import Found, Job, changes_of
from dragoman.serving.models import Models, Offer
from dragoman.serving.service import TranslationService
from dragoman.serving.settings import ServiceSettings
from dragoman.text.frames import Between


@dataclass(frozen=True)
class Encoded:
    width: int


class Reversing:
    """Reverses text, one letter per step. "bad" cannot be read, "damaged" breaks every batch that it is in."""

    previous = 0

    def __init__(self, *, steps: int = 0, seconds: float = 0.0) -> None:
        self.steps, self.seconds = steps, seconds
        self.batches: list[list[str]] = []
        self.taken = 0
        self.released = threading.Event()
        self.released.set()

    def settings(self, options: Options) -> DecodingSettings:
        return DecodingSettings(beam=1).model_copy(update=dict(changes_of(options)))

    def encode(self, job: Job) -> Encoded:
        if "bad" in job.text:
            raise InputError("the source sentence is bad; send another")
        return Encoded(len(job.text))

    def translate(self, jobs: Sequence[Job], encoded: Sequence[Any], watch: Watch) -> list[Found]:
        assert [one.width for one in encoded] == [len(job.text) for job in jobs]
        self.batches.append([job.text for job in jobs])
        self.released.wait(10)
        if any("damaged" in job.text for job in jobs):
            raise RuntimeError("this sentence breaks the model")
        for step in range(self.steps):
            if len(watch.abandoned()) == len(jobs):
                break
            self.taken += 1
            time.sleep(self.seconds)
            grown = {row: [Hypothesis([*range(step + 1)], -1.0, -1.0)] for row in range(len(jobs))}
            watch.see(SearchStep({}, lambda grown=grown: grown))  # type: ignore[misc]
        return [self.found(job) for job in jobs]

    def found(self, job: Job) -> Found:
        others = tuple(Sentence(job.text, f"{number}", score=-number) for number in range(2, job.settings.n_best + 1))
        return Found(Sentence(job.text, "<".join([*job.previous, job.text[::-1]]), score=-1.0), others)

    def spell(self, ids: list[int]) -> str:
        return "x" * len(ids)


def job(text: str, **settings: Any) -> Job:
    return Job(text, (), Between("en", "vi"), DecodingSettings(**{"beam": 1, **settings}))


def offer(name: str, *directions: tuple[str, str], size: int = 1) -> Offer:
    return Offer(name, (Path(name),), Directions(directions, tagged=len(directions) > 1), True, size, True)


def service_of(worker: Reversing, *offers: Offer, **settings: Any) -> TranslationService:
    chosen = ServiceSettings(**settings)
    given = offers or (offer("tiny", ("en", "vi"), ("fr", "vi")),)
    return TranslationService(Models(given, lambda _: worker, settings=chosen.engine), chosen)
