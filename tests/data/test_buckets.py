"""Batches of sentences of about equal length."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.buckets import OVERHEAD, SEGMENTS, _segment_ends, batch_boundaries, batches, pools

pairs = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


def sides(lengths: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of sources and of targets."""
    source, target = np.array(lengths, dtype=np.int32).T
    return source, target


def cells(source: np.ndarray, target: np.ndarray, cuts: list[int], tokens: int) -> float:
    """Return the cost that `batch_boundaries` minimises."""
    edges = [0, *cuts, len(source)]
    return sum(
        (end - begin) * (int(source[begin:end].max()) + int(target[begin:end].max())) + OVERHEAD * tokens
        for begin, end in itertools.pairwise(edges)
    )


@given(pairs, st.integers(1, 300), st.integers(0, 5))
def test_each_pair_is_in_one_batch_within_the_budget(lengths: list[tuple[int, int]], tokens: int, seed: int) -> None:
    source, target = sides(lengths)
    indices = np.arange(len(lengths)) + 1000
    made = batches(indices, source, target, tokens=tokens, rng=np.random.default_rng(seed))
    assert sorted(np.concatenate(made).tolist()) == indices.tolist()
    for batch in made:
        longest = max(source[batch - 1000].max(), target[batch - 1000].max())
        assert len(batch) == 1 or longest * len(batch) <= tokens


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=9), st.integers(1, SEGMENTS - 1))
def test_cuts_cost_the_least(lengths: list[tuple[int, int]], tokens: int) -> None:
    source, target = sides(lengths)
    costs = []
    for count in range(len(lengths)):
        for cuts in itertools.combinations(range(1, len(lengths)), count):
            edges = itertools.pairwise([0, *cuts, len(lengths)])
            if all(e - b == 1 or (e - b) * max(source[b:e].max(), target[b:e].max()) <= tokens for b, e in edges):
                costs.append(cells(source, target, list(cuts), tokens))
    assert cells(source, target, batch_boundaries(source, target, tokens), tokens) == pytest.approx(min(costs))


@given(pairs, st.integers(1, 300))
def test_boundaries_ascend_and_are_independent_of_what_the_sides_are_called(
    lengths: list[tuple[int, int]], tokens: int
) -> None:
    source, target = sides(lengths)
    found = batch_boundaries(source, target, tokens)
    assert found == sorted(set(found)) and all(0 < at < len(lengths) for at in found)
    assert found == batch_boundaries(target, source, tokens)


@given(st.integers(1, 3000), st.integers(1, 500), st.integers(1, 50), st.integers(0, 5))
def test_pools_hold_every_pair_once(count: int, pool: int, block: int, seed: int) -> None:
    made = pools(count, np.random.default_rng(seed), pool=pool, block=block)
    assert sorted(index for blocks in made for one in blocks for index in one) == list(range(count))


def test_little_of_real_batches_is_padding() -> None:
    rng = np.random.default_rng(1)
    target = np.clip(rng.lognormal(2.7, 0.35, 29_000), 4, 60).astype(np.int32)
    source = np.clip(target + rng.normal(0, 2.2, len(target)), 3, 60).astype(np.int32)
    made = batches(np.arange(len(target)), source, target, tokens=4000, rng=rng)
    rectangles = sum(len(batch) * int(source[batch].max() + target[batch].max()) for batch in made)
    assert 1 - (source.sum() + target.sum()) / rectangles < 0.03
    assert len(made) < 1.25 * max(source.sum(), target.sum()) / 4000


def test_order_and_company_change_with_the_random_numbers() -> None:
    source = target = np.full(1000, 5, dtype=np.int32)
    first, second, again = (
        batches(np.arange(1000), source, target, tokens=100, rng=np.random.default_rng(seed)) for seed in (1, 2, 1)
    )
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]
    assert {frozenset(batch.tolist()) for batch in first}.isdisjoint(frozenset(batch.tolist()) for batch in second)


@pytest.mark.parametrize("count", [1, 99, 100, 101, 1000, 1001, 1049])
def test_pools_deal_out_a_corpus_whole_and_evenly(count: int) -> None:
    made = pools(count, np.random.default_rng(1), pool=100, block=10)
    dealt = [index for runs in made for run in runs for index in run]
    assert sorted(dealt) == list(range(count))
    sizes = [sum(len(run) for run in runs) for runs in made]
    assert max(sizes) <= 100 + 10
    assert len(sizes) == 1 or min(sizes) >= max(sizes) - 20


def test_pools_differ_from_epoch_to_epoch() -> None:
    first, second = (pools(1000, np.random.default_rng(seed), pool=100, block=10) for seed in (1, 2))
    assert {run.start for run in first[0]} != {run.start for run in second[0]}


def test_a_long_sentence_is_a_bit_of_its_own() -> None:
    assert _segment_ends(np.array([3, 90, 3, 3], dtype=np.int32), tokens=9) == [1, 2]
