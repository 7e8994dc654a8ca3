"""Batches of texts that are segmented at random."""

from collections import Counter
from typing import Any

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


def test_a_text_that_would_be_too_long_in_smaller_pieces_is_segmented_as_usual(
    store: Store, codecs: tuple[Codec, Codec]
) -> None:
    bounds = tuple(int(lengths.max()) for lengths in (store.source_lengths, store.target_lengths))
    longest = [0, 0]
    stream = BatchStream(store, codecs, 400, seed=1, variation=Variation(0.9, 0.9), bounds=bounds)
    while stream.position["epoch"] == 0:
        batch = next(stream)
        sides = batch.source.mask.sum(1) - 1, batch.target.mask.sum(1) - 2  # without BOS and EOS
        longest = [max(most, int(lengths.max())) for most, lengths in zip(longest, sides, strict=True)]
    stream.close()
    assert tuple(longest) == bounds


@pytest.mark.parametrize(("bounds", "most"), [((None, None), (49, 49)), ((30, 200), (30, 49))])
def test_joined_pairs_fit_into_a_batch_with_their_end(
    bounds: tuple[int | None, int | None],
    most: tuple[int, int],
    store: Store,
    codecs: tuple[Codec, Codec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits, couples = [], module.couples

    def watched(*given: Any, **named: Any) -> Any:
        limits.append(named["most"])
        return couples(*given, **named)

    monkeypatch.setattr(module, "couples", watched)
    BatchStream(store, codecs, 50, seed=1, variation=Variation(joined=0.5), bounds=bounds).close()
    assert set(limits) == {most}
