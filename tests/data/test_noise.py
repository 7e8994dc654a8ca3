"""Noise of denoising: what is hidden, how much of it, and that the rest stays in order."""

import numpy as np
import pytest

from dragoman.data.noise import STRETCH, infilled

MASK = 1


def stretches(noised: list[int], first: int, length: int) -> list[int]:
    """Return how many tokens each mask stands for in a noised sentence of consecutive ids."""
    ends = [first - 1, *(one if one != MASK else None for one in noised), first + length]
    lengths = []
    for at, one in enumerate(ends):
        if one is None:
            before, after = ends[at - 1], ends[at + 1]
            assert before is not None and after is not None, "masks do not touch"
            lengths.append(after - before - 1)
    return lengths


@pytest.mark.parametrize("share", [0.1, 0.35, 0.9])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 40])
def test_the_rest_stays_in_order_and_a_mask_stands_wherever_tokens_are_missing(length: int, share: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        noised = infilled(np.arange(10, 10 + length), share, mask=MASK, rng=rng).tolist()
        rest = [one for one in noised if one != MASK]
        assert rest == sorted(rest)
        missing = length - len(rest)
        assert missing in (int(share * length), int(share * length) + 1)
        assert sum(stretches(noised, 10, length)) == missing


def test_the_share_is_kept_on_average_and_stretches_have_the_lengths_of_the_paper() -> None:
    rng, ids = np.random.default_rng(1), np.arange(10, 1010)
    noised = [infilled(ids, 0.35, mask=MASK, rng=rng).tolist() for _ in range(50)]
    lengths = [length for one in noised for length in stretches(one, 10, 1000)]
    assert np.mean(lengths) == pytest.approx(STRETCH, rel=0.05)
    assert np.var(lengths) == pytest.approx(STRETCH, rel=0.1), "a Poisson distribution's is its mean"
    short = [infilled(ids[:3], 0.35, mask=MASK, rng=rng).tolist() for _ in range(2000)]
    assert np.mean([3 - sum(one != MASK for one in sentence) for sentence in short]) == pytest.approx(1.05, abs=0.05)
