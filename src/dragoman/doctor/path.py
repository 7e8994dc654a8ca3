"""The likeliest sequence of offsets, in which a change has a price."""

import numpy as np
from jaxtyping import Float64, Int64

BLOCK = 8
"""The sequence may change every so many lines; where exactly is found afterwards."""
JUMP = 25.0
"""Nats that a change of the offset costs: one is found by chance in about 1 of e^25 lines, times the offsets to choose from."""


def best_path(scores: Float64[np.ndarray, "lines states"], start: int) -> Int64[np.ndarray, " lines"]:
    """Return the state of each line with the largest sum of scores minus `JUMP` for each change (Viterbi 1967).

    It begins in the state `start`, from which a change at the first line costs as much as anywhere.
    """
    sums = np.add.reduceat(scores, np.arange(0, len(scores), BLOCK), axis=0)
    states = np.arange(scores.shape[1])
    totals = np.where(states == start, 0.0, -JUMP)
    origins = np.empty(sums.shape, np.int8)
    for block, gains in enumerate(sums):
        best = totals.argmax()
        jumped = totals[best] - JUMP
        origins[block] = np.where(totals < jumped, best, states)
        totals = np.maximum(totals, jumped) + gains
    path = np.empty(len(sums), np.int64)
    state = int(totals.argmax())
    for block in range(len(sums) - 1, -1, -1):
        path[block] = state
        state = int(origins[block, state])
    return np.repeat(path, BLOCK)[: len(scores)]


def best_border(before: Float64[np.ndarray, " lines"], after: Float64[np.ndarray, " lines"]) -> int:
    """Return how many lines belong to what is before a change, given the scores of both for each line.

    >>> best_border(np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    2
    """
    return int(np.argmax(np.cumsum(np.append(0.0, before - after))))
