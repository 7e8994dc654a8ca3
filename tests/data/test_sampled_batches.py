"""Batches of texts that are segmented at random."""

from collections import Counter

import pytest

from dragoman.data import stream as module
from dragoman.data.store import Store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.interfaces import BOS, EOS, PAD
from dragoman.text import Codec


def targets(store: Store, codecs: tuple[Codec, Codec], variation: Variation) -> list[tuple[int, ...]]:
    """Return the targets of one epoch, in order."""
    stream = BatchStream(store, codecs, 400, seed=1, variation=variation)
    found = list[tuple[int, ...]]()
    while stream.position["epoch"] == 0:
        rows = next(stream).target.ids.tolist()
        found += [tuple(index for index in row if index not in (PAD, BOS, EOS)) for row in rows]
    stream.close()
    return found


def test_how_many_texts_are_segmented_together_changes_nothing(
    store: Store, codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = targets(store, codecs, Variation(0.3, 0.2))
    monkeypatch.setattr(module, "SAMPLED_TOGETHER", 7)
    assert targets(store, codecs, Variation(0.3, 0.2)) == expected


def test_a_side_that_is_not_sampled_stays_as_it_is(store: Store, codecs: tuple[Codec, Codec]) -> None:
    usual = Counter(tuple(store.pair(at)[1].tolist()) for at in range(len(store)))
    plain, sampled = (Counter(targets(store, codecs, Variation(0.3, rate))) for rate in (0.0, 0.3))
    assert plain == usual != sampled
