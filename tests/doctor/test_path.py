"""The best sequence of states."""

import itertools

import numpy as np

from dragoman.doctor import path
from dragoman.doctor.path import BLOCK, JUMP, best_border, best_path


def best_by_trying(scores: np.ndarray, start: int) -> float:
    """Return the largest sum of scores minus prices, over all sequences of blocks."""
    sums = scores.reshape(-1, BLOCK, scores.shape[1]).sum(1)
    return max(_value(sums, states, start) for states in itertools.product(range(scores.shape[1]), repeat=len(sums)))


def _value(sums: np.ndarray, states: tuple[int, ...], start: int) -> float:
    jumps = sum(one != other for one, other in itertools.pairwise((start, *states)))
    return sum(float(sums[block, state]) for block, state in enumerate(states)) - JUMP * jumps


def test_it_is_the_best_of_all_sequences() -> None:
    chance = np.random.default_rng(1)
    for start in (0, 1, 2):
        scores = chance.normal(0, 5, (6 * BLOCK, 3))
        found = best_path(scores, start)
        assert np.isclose(
            _value(scores.reshape(-1, BLOCK, 3).sum(1), tuple(found[::BLOCK]), start), best_by_trying(scores, start)
        )
        assert (found.reshape(-1, BLOCK) == found[::BLOCK, None]).all()


def test_little_evidence_changes_nothing_and_enough_does() -> None:
    scores = np.zeros((100, 2))
    scores[:40, 0], scores[40:, 1] = 1.0, 0.9 * JUMP / 60
    assert best_path(scores, 0).tolist() == [0] * 100
    scores[40:, 1] = 1.1 * JUMP / 60
    assert best_path(scores, 0).tolist() == [0] * 40 + [1] * 60


def test_a_last_block_may_be_short() -> None:
    assert len(best_path(np.zeros((2 * path.BLOCK + 1, 2)), 0)) == 2 * path.BLOCK + 1


def test_a_border_is_where_the_sum_is_largest() -> None:
    before, after = np.array([3.0, -1.0, 2.0, 0.0]), np.array([0.0, 0.0, 0.0, 3.0])
    assert best_border(before, after) == 3
    assert best_border(after, before) == 0
    assert best_border(before, before - 1) == 4
