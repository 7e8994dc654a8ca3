"""Encoding a corpus with the processes of a Ray cluster.

The process that reads the corpus hands rows out in order and gets record batches back in order. Rows that a process had when
it died are given to the one that Ray starts in its place.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from dragoman.data.encode import Encoders, Row, Submit, encode_rows
from dragoman.errors import CorpusError
from dragoman.machine.processes import process_count
from dragoman.text.codec import Codec

MOST_DEATHS = 20
"""How often each process is started again."""


class Encoder:
    """One of the processes."""

    def __init__(self, codecs: tuple[Codec, Codec]) -> None:
        self.codecs = codecs

    def encode(self, rows: list[Row]) -> Any:
        """Encode rows into a record batch."""
        return encode_rows(rows, self.codecs)


def ray_encoders() -> Encoders:
    """Return as many processes as have a CPU: those of the processes that train, which wait meanwhile, and all free ones."""
    import ray

    return Encoders(process_count() + int(ray.available_resources().get("CPU", 0)), ray_processes)


@contextmanager
def ray_processes(codecs: tuple[Codec, Codec], count: int) -> Iterator[Submit]:
    """Start processes on the cluster that this one belongs to; they end with the block.

    They ask for no CPU, since those of the processes that train may be all there are. CorpusError if they die too often.
    """
    import ray

    kind = ray.remote(num_cpus=0, scheduling_strategy="SPREAD", max_restarts=MOST_DEATHS, max_task_retries=MOST_DEATHS)(
        Encoder
    )
    processes = [kind.remote(codecs) for _ in range(count)]
    turns = cycle(processes)
    try:
        yield lambda rows: next(turns).encode.remote(rows).future()
    except ray.exceptions.ActorDiedError as error:
        last = str(error).strip().split("\n")[-1]
        raise CorpusError(
            f"the processes that encode the corpus died more than {MOST_DEATHS} times ({last}); see what Ray says of them"
        ) from None
    finally:
        for process in processes:
            ray.kill(process)
