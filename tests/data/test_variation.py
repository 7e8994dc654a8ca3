"""Which pairs are joined, and when sentences are sampled."""

import numpy as np
import pytest

from dragoman.data.variation import Variation, couples, merged


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_pairs_is_joined_each_once(share: float) -> None:
    lengths = np.full(101, 4, np.int32)
    found = couples(lengths, lengths, share, most=(8, 8), rng=np.random.default_rng(1))
    assert len(found) == int(share * 101 / 2)
    assert len(np.unique(found)) == found.size
    assert merged(lengths, found).sum() == lengths.sum()


def test_couples_that_are_too_long_on_either_side_stay_apart() -> None:
    lengths = np.arange(1, 101, dtype=np.int32)
    for most in ((50, 1000), (1000, 50)):
        found = couples(lengths, lengths, 1.0, most=most, rng=np.random.default_rng(1))
        assert 0 < len(found) < 50 and lengths[found].sum(1).max() <= 50


def test_sampling_ends_after_its_epochs() -> None:
    variation = Variation(0.1, 0.2, epochs=3)
    assert [variation.rates(epoch) for epoch in (0, 2, 3)] == [(0.1, 0.2), (0.1, 0.2), (0.0, 0.0)]
    assert Variation(0.1).rates(1000) == (0.1, 0.0)
