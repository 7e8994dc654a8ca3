"""Noise for denoising: stretches of a sentence are hidden, so that a model learns to restore it."""

import numpy as np
from jaxtyping import Int, Int32

STRETCH = 3.5
"""Mean number of tokens of a stretch (Liu et al. 2020, section 2.1)."""


def infilled(
    ids: Int[np.ndarray, " tokens"], share: float, *, mask: int, rng: np.random.Generator
) -> Int32[np.ndarray, " noised"]:
    """Return a sentence with a `share` of its tokens hidden: each stretch of them is replaced by one `mask`.

    Text infilling (Lewis et al. 2020, section 2.2). The lengths of stretches are drawn from a Poisson distribution with the mean
    STRETCH, until the share is hidden; one of length 0 adds a mask where no token is missing. Deviations: stretches are of
    tokens, not of words; they never touch one another; the last one ends where the share is reached.

    >>> infilled(np.arange(10, 30), 0.35, mask=1, rng=np.random.default_rng(2)).tolist()
    [10, 1, 13, 14, 1, 18, 19, 20, 21, 22, 23, 24, 25, 1, 28, 29]
    """
    hidden = int(share * len(ids) + rng.random())
    lengths: list[int] = []
    while sum(lengths) < hidden:
        lengths.append(min(int(rng.poisson(STRETCH)), hidden - sum(lengths)))
    gaps = len(ids) - hidden + 1
    lengths[gaps - 1 :] = [sum(lengths[gaps - 1 :])] if len(lengths) >= gaps else []
    places = np.sort(rng.permutation(gaps)[: len(lengths)])
    starts = places + np.cumsum([0, *lengths])[: len(lengths)]
    kept = np.ones(len(ids), bool)
    for start, length in zip(starts.tolist(), lengths, strict=True):
        kept[start : start + length] = False
    return np.insert(ids[kept], places, mask).astype(np.int32)
