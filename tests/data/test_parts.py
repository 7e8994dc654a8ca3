"""A process of several reads its own rows of a batch, and knows how large the batch is."""

import itertools

import pytest
import torch

from dragoman.data.store import Store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.interfaces import Batch
from dragoman.text.codec import Codec


def taken(stream: BatchStream) -> list[Batch]:
    """Take six batches, and close the stream."""
    found = list(itertools.islice(stream, 6))
    stream.close()
    return found


@pytest.mark.parametrize("variation", [Variation(), Variation(0.3, 0.3), Variation(joined=0.5)])
def test_a_part_has_the_rows_of_the_whole_and_its_mask(
    variation: Variation, store: Store, codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stream() -> BatchStream:
        return BatchStream(store, codecs, 400, seed=1, variation=variation)

    read: list[int] = []
    monkeypatch.setattr(Store, "pair", lambda self, at, pair=Store.pair: read.append(at) or pair(self, at))
    whole = taken(stream())
    of_whole = len(read)
    for number in range(3):
        read.clear()
        own = stream()
        own.read_part(number, 3)
        for part, batch in zip(taken(own), whole, strict=True):
            rows = slice(len(batch.source.ids) * number // 3, len(batch.source.ids) * (number + 1) // 3)
            for found, expected in ((part.source, batch.source), (part.target, batch.target)):
                assert torch.equal(found.mask, expected.mask)
                assert torch.equal(found.ids[rows], expected.ids[rows])
            assert torch.equal(part.label_positions, batch.label_positions)
        assert variation.source or len(read) < 0.45 * of_whole
