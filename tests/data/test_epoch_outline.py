"""What a stream says of an epoch, against the batches that it gives."""

from collections.abc import Iterator

import pytest

from dragoman.data import buckets
from dragoman.data import stream as module
from dragoman.data.store import Store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import PLAIN, Variation
from dragoman.interfaces import Batch
from dragoman.text import Codec


def cells_of(batch: Batch) -> int:
    """Return the tokens of both sides, padding included."""
    return batch.source.mask.numel() + batch.target.mask.numel()


def epoch(stream: BatchStream) -> Iterator[Batch]:
    """Give the batches of the first epoch."""
    while stream.position["epoch"] == 0:
        yield next(stream)


@pytest.mark.parametrize("variation", [PLAIN, Variation(0.5, 0.5), Variation(joined=0.4)])
def test_an_outline_is_that_of_the_batches_of_an_epoch(
    store: Store, codecs: tuple[Codec, Codec], variation: Variation
) -> None:
    stream = BatchStream(store, codecs, 400, seed=1, variation=variation)
    position, outline = stream.position, stream.outline()
    assert stream.position == position
    batches = list(epoch(stream))
    stream.close()
    assert outline.batches == len(batches)
    assert outline.cells == sum(map(cells_of, batches))
    assert outline.tokens == sum(len(batch.label_positions) for batch in batches)
    assert cells_of(outline.largest) == max(map(cells_of, batches))


def test_of_several_pools_one_stands_for_all(
    store: Store, codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "pools", lambda pairs, rng: buckets.pools(pairs, rng, pool=200, block=50))
    stream = BatchStream(store, codecs, 400, seed=1)
    outline, batches = stream.outline(), list(epoch(stream))
    stream.close()
    assert outline.batches == pytest.approx(len(batches), rel=0.2)
    assert outline.cells == pytest.approx(sum(map(cells_of, batches)), rel=0.2)
    assert outline.tokens == pytest.approx(sum(len(batch.label_positions) for batch in batches), rel=0.2)
