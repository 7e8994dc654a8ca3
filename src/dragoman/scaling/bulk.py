"""Translating a large file with the processes of a Ray cluster, by Ray Data.

A process is told the number of a chunk, reads the file up to it, and returns its translations. If one dies, Ray Data gives its
chunk to another. It hands all chunks out once, in order, to the process that writes.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import DragomanError
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.bulk import lines_of
from dragoman.jobs.translate_corpus import (
    Chunk,
    CorpusTranslation,
    Translated,
    chunks_of,
    load_translator,
    only_best,
    translate_chunk,
)
from dragoman.json_files import parse_json
from dragoman.machine.devices import choose_device
from dragoman.scaling.cluster import Workers, cluster, error_named
from dragoman.settings import parse
from dragoman.text.frames import Between

NOWHERE = Path("nowhere")
"""Where a process that does not write would write."""


@dataclass(frozen=True)
class _Work:
    """What each process is told."""

    runs: tuple[Path, ...]
    source: Path
    place: Path
    """The folder in which the command was given."""
    settings: dict[str, Any]
    """Of decoding."""
    device: str
    to: Between | None
    chunk: int
    """Sentences of a chunk."""


@dataclass(frozen=True)
class OnRay:
    """Translates the rest of a file with the processes of a Ray cluster: `rest` of `jobs/bulk.py::translate_file`.

    All of them see the runs and the file. This process checks and writes, the others load the runs anew.
    """

    workers: Workers
    work: _Work

    def __call__(self, corpus: CorpusTranslation, done: int) -> Iterator[Translated]:
        """Let the cluster translate what follows the first `done` lines."""
        work, workers = self.work, self.workers
        lines = sum(1 for _ in corpus.pairs())
        if done == lines:
            return  # the job was stopped at its very end, as while the cluster was ending
        first, last = done // work.chunk, -(-lines // work.chunk)
        on_gpu = choose_device(work.device).type == "cuda"
        with cluster(workers, on_gpu=on_gpu):
            import ray.data

            logging.getLogger("ray.data").setLevel(logging.ERROR)
            context = ray.data.DataContext.get_current()
            context.execution_options.preserve_order = True
            context.enable_progress_bars = False
            numbers = [{"number": number} for number in range(first, last)]
            chunks = ray.data.from_items(numbers, override_num_blocks=len(numbers)).map_batches(
                _Process,
                fn_constructor_args=(work,),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(min_size=workers.least, max_size=workers.most),
                num_cpus=1,
                num_gpus=1 if on_gpu else 0,
            )
            for expected, row in enumerate(chunks.iter_rows(), first):
                found = parse_json(row["found"])
                if "error" in found:
                    raise error_named(found["error"])(found["sentence"])
                assert found["number"] == expected, "Ray Data keeps the order of its rows"
                yield found["rows"], found["end"]


def share_on_ray(
    translator: Translator, runs: Sequence[Path], source: Path, *, workers: Workers, device: str, to: Between | None
) -> OnRay:
    """Return what translates a file on Ray as the translator of `runs` would."""
    return OnRay(
        workers,
        _Work(
            runs=tuple(run.absolute() for run in runs),
            source=source.absolute(),
            place=Path.cwd(),
            settings=translator.settings.model_dump(mode="json"),
            device=device,
            to=to,
            chunk=translate_corpus.CHUNK,
        ),
    )


class _Process:
    """One of the processes: loads the runs for its first chunk, and reads the file once, since chunks come in order."""

    def __init__(self, work: _Work) -> None:
        self.work = work
        self.corpus = lines_of(work.source, NOWHERE, to=work.to)
        self.chunks: Iterator[Chunk] = iter(())
        self.next = -1
        """Number of the chunk that is read next, or -1 before the first."""

    @cached_property
    def translator(self) -> Translator:
        """Load what translates."""
        os.chdir(self.work.place)
        return load_translator(
            *self.work.runs, settings=parse(DecodingSettings, self.work.settings), device=self.work.device
        )

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Translate the chunk of a number; a mistake of the user is returned, since no second attempt would mend it."""
        try:
            found = self.translated(int(batch["number"][0]))
        except DragomanError as error:
            found = {"error": type(error).__name__, "sentence": str(error)}
        return {"found": [json.dumps(found)]}

    def translated(self, number: int) -> dict[str, Any]:
        """Translate a chunk."""
        chunk = self.read(number)
        rows = translate_chunk(self.translator, self.corpus, chunk, choose=only_best)
        return {"number": number, "rows": rows, "end": chunk.end}

    def read(self, number: int) -> Chunk:
        """Read on to a chunk, from the start of the file where it is behind."""
        if self.next < 0 or number < self.next:
            self.chunks = chunks_of(self.corpus, self.translator.previous, size=self.work.chunk)
        self.next = number + 1
        return next(chunk for chunk in self.chunks if chunk.number == number)
