"""The translation of large files by the processes of a Ray cluster, with Ray Data.

A row is the place of a block in the file, and each process writes the blocks that it is given (`jobs/bulk.py`). Ray gives the
blocks of a process that died to another. A block that is there already is not made again, so none is lost or there twice.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError, InputError
from dragoman.inference.translator import Translator
from dragoman.jobs.bulk import Block, BlockTranslator, Bulk, Share
from dragoman.machine.devices import choose_device
from dragoman.scaling.cluster import Workers, cluster

MOST_TASKS = 10_000
"""Parts into which the rows are divided at most: Ray keeps something of each in memory."""


def by_processes(workers: Workers) -> Share:
    """Return what has blocks translated by the processes of a Ray cluster, all of which see the file and the runs."""

    def share(job: Bulk, blocks: Sequence[Block]) -> Iterator[int]:
        if not blocks:
            return
        on_gpu = choose_device(job.device).type == "cuda"
        with cluster(workers, on_gpu=on_gpu):
            yield from _finished(job, blocks, workers, on_gpu=on_gpu)

    return share


def _finished(job: Bulk, blocks: Sequence[Block], workers: Workers, *, on_gpu: bool) -> Iterator[int]:
    """Yield the number of each block that a process has written. InputError for what it could not translate."""
    import ray

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    rows = ray.data.from_items([asdict(block) for block in blocks], override_num_blocks=min(len(blocks), MOST_TASKS))
    done = rows.map_batches(
        _Process,
        fn_constructor_args=(job, Path.cwd()),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(min_size=workers.least, max_size=workers.most),
        num_cpus=1,
        num_gpus=1 if on_gpu else None,
    )
    for row in done.iter_rows():
        if row["problem"]:
            raise InputError(row["problem"])
        yield int(row["number"])


class _Process:
    """What a process of the cluster does."""

    def __init__(self, job: Bulk, place: Path) -> None:
        os.chdir(place)  # where the command was given: paths may be relative
        self.job = job
        self.translator: Translator | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Write the blocks of a batch; return their numbers, and the sentence of an error that no second attempt would mend."""
        problems = []
        for place in zip(*batch.values(), strict=True):
            block = Block(**{name: int(value) for name, value in zip(batch, place, strict=True)})
            try:
                self.translator = self.translator or self.job.load()
                BlockTranslator(self.job, self.translator).write(block)
                problems.append("")
            except DragomanError as error:
                problems.append(str(error))
        return {"number": list(batch["number"]), "problem": problems}
