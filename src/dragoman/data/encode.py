"""Pairs of text turned into rows of the store, in several processes where that pays."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from typing import Any

from dragoman.text.codec import Codec

ROWS = 8192
"""Pairs in each record batch of a store but the last."""

SMALL = 8
"""A corpus of fewer record batches is encoded here: starting processes would take longer."""

Texts = list[tuple[str, str]]


def encode_rows(pairs: Texts, codecs: tuple[Codec, Codec]) -> Any:
    """Encode pairs into an Arrow record batch: ids of both sides, and their texts."""
    import pyarrow

    ids, text = pyarrow.list_(pyarrow.int32()), pyarrow.string()
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return pyarrow.record_batch(
        {
            "source": pyarrow.array([codecs[0].encode(source) for source in sources], ids),
            "target": pyarrow.array([codecs[1].encode(target) for target in targets], ids),
            "source_text": pyarrow.array(sources, text),
            "target_text": pyarrow.array(targets, text),
        }
    )


def encode_all(pairs: Iterable[tuple[str, str]], codecs: tuple[Codec, Codec], workers: int) -> Iterator[Any]:
    """Encode pairs in order, ROWS at a time, with a bounded number of rows in memory."""
    rest = iter(pairs)
    chunks: Iterator[Texts] = iter(lambda: list(islice(rest, ROWS)), [])
    first = list(islice(chunks, SMALL))
    if workers < 2 or len(first) < SMALL:
        yield from (encode_rows(chunk, codecs) for chunk in chain(first, chunks))
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        yield from _in_order(chain(first, chunks), lambda chunk: pool.submit(encode_rows, chunk, codecs), 2 * workers)


def _in_order(chunks: Iterable[Texts], submit: Callable[[Texts], Future[Any]], most: int) -> Iterator[Any]:
    """Keep at most `most` chunks in work, and give the results in the order of the chunks."""
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
