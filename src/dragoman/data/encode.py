"""Pairs of text turned into rows of the store, in several processes where that pays."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from types import ModuleType
from typing import Any, NamedTuple

from dragoman.data.links import normalized_links
from dragoman.data.unknown import mark_unknown_positions, split_links
from dragoman.errors import CorpusError
from dragoman.text.codec import Codec
from dragoman.text.frames import Between
from dragoman.text.links import Links

ROWS_PER_BATCH = 8192
"""Pairs in each record batch of a store but the last."""

SMALLEST_PARALLEL = 8
"""A corpus of fewer record batches is encoded in this process: starting others would take longer."""


class Row(NamedTuple):
    """What the store is made from: a pair, its word alignment, and how many rows earlier the sentence before it is."""

    source: str
    target: str
    links: Links | None = None
    back: int | None = None
    """None for the first sentence of a document."""
    tags: tuple[str, ...] = ()
    """The tags that the source begins with (`text/tags.py`)."""
    between: Between | None = None
    """Its languages."""


def encode_rows(pairs: Sequence[Row], codecs: tuple[Codec, Codec]) -> Any:
    """Encode pairs into an Arrow record batch: ids of both sides, their texts, and what else is known of them."""
    import pyarrow

    ids, text = pyarrow.list_(pyarrow.int32()), pyarrow.string()
    links = pyarrow.list_(pyarrow.list_(pyarrow.int32(), 2))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    linked = [None if pair.links is None else normalized_links(pair.links, pair[:2], codecs) for pair in pairs]
    return pyarrow.record_batch(
        {
            "source": pyarrow.array([_encode_source(pair, codecs[0]) for pair in pairs], ids),
            "target": pyarrow.array([_encode_target(pair, codecs) for pair in pairs], ids),
            "source_text": pyarrow.array(sources, text),
            "target_text": pyarrow.array(targets, text),
            "links": pyarrow.array(linked, links),
            "back": pyarrow.array([pair.back for pair in pairs], pyarrow.int32()),
        }
    )


def _encode_source(pair: Row, codec: Codec) -> list[int]:
    """Encode a source with its tags or, if the vocabulary is imported, with the frame of its languages."""
    if codec.frames:
        return codec.framed(pair.source, pair.between)
    return [*codec.tags(pair.tags), *codec.encode(pair.source)]


def _encode_target(pair: Row, codecs: tuple[Codec, Codec]) -> list[int]:
    """Encode a target; where the codec has them, its unknown words say which source words they are aligned to.

    The code of its language, if it begins with one, is a token that the model learns to write.
    """
    ids = [*codecs[1].start(pair.between), *codecs[1].encode(pair.target)]
    if pair.links is None or not codecs[1].positional:
        return ids
    return mark_unknown_positions(ids, split_links(pair.links, pair[:2], codecs), codecs[1])


Submit = Callable[[list[Row]], "Future[Any]"]
"""Has a process encode rows."""


@contextmanager
def own_processes(codecs: tuple[Codec, Codec], count: int) -> Iterator[Submit]:
    """Start processes on this machine, which end with the block, or with this process. CorpusError if one of them dies."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_end_with_parent) as pool:

        def submit(rows: list[Row]) -> "Future[Any]":
            with _apart_from_the_program(), _deaf_to_interrupts():  # submitting starts the processes
                return pool.submit(encode_rows, rows, codecs)

        try:
            yield submit
        except BrokenProcessPool:
            raise CorpusError(
                f"one of the {count} processes that encode the corpus was killed; free some memory and try again"
            ) from None


@contextmanager
def _apart_from_the_program() -> Iterator[None]:
    """Let processes start without the program that this one runs, of which they need nothing.

    They would run it from its beginning, and train once more, if it trains outside `if __name__ == "__main__":`.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes start to which Ctrl-C means nothing: a terminal sends it to all, but the one that started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this process once the one that started it has ended, which can tell nobody if it is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@dataclass(frozen=True)
class Encoders:
    """The processes that encode a large corpus."""

    count: int = 1
    """How many; one is this process itself."""
    start: Callable[[tuple[Codec, Codec], int], AbstractContextManager[Submit]] = own_processes
    """Starts so many."""


ALONE = Encoders()
"""This process alone."""


def encode_all(pairs: Iterable[Row], codecs: tuple[Codec, Codec], encoders: Encoders) -> Iterator[Any]:
    """Encode pairs in order, ROWS_PER_BATCH at a time, with a bounded number of rows in memory."""
    rest = iter(pairs)
    chunks: Iterator[list[Row]] = iter(lambda: list(islice(rest, ROWS_PER_BATCH)), [])
    first = list(islice(chunks, SMALLEST_PARALLEL))
    if encoders.count < 2 or len(first) < SMALLEST_PARALLEL:
        yield from (encode_rows(chunk, codecs) for chunk in chain(first, chunks))
        return
    with encoders.start(codecs, encoders.count) as submit:
        yield from _in_order(chain(first, chunks), submit, 2 * encoders.count)


def _in_order(chunks: Iterable[list[Row]], submit: Submit, most: int) -> Iterator[Any]:
    """Keep at most `most` chunks in progress, and give the results in the order of the chunks."""
    working: deque[Future[Any]] = deque()
    try:
        for chunk in chunks:
            working.append(submit(chunk))
            if len(working) >= most:
                yield working.popleft().result()
        while working:
            yield working.popleft().result()
    finally:
        for future in working:
            future.cancel()
