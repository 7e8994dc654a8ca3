"""Relative positions against the papers' equations in loops."""

import math

import pytest
import torch
from tests.reference import loops

from dragoman.attention.attend import attend
from dragoman.attention.relative import T5, Rotary, Shaw, build_relative
from dragoman.attention.scores import ScaledDot


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_shaw_is_the_formula_with_a_vector_for_each_pair():
    torch.manual_seed(1)
    relative, time = Shaw(4, causal=False), 40
    queries, keys, values = (numbers(1, 1, time, 4, seed=seed) for seed in (1, 2, 3))
    scores = ScaledDot()(queries, keys) + relative.bias(queries, 0, time)
    context, weights = attend(scores, values)
    context = context + relative.values(weights, 0)
    for place in (0, 3, 20, 39):
        expected = loops.shaw(
            queries[0, 0, place].tolist(),
            place,
            keys[0, 0].tolist(),
            values[0, 0].tolist(),
            key_vectors=relative.keys.tolist(),
            value_vectors=relative.averaged.tolist(),
            reach=16,
        )
        torch.testing.assert_close(weights[0, 0, place], torch.tensor(expected[0]), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(context[0, 0, place], torch.tensor(expected[1]), rtol=1e-5, atol=1e-6)


def test_shaw_on_a_causal_side_is_the_formula_over_the_past():
    torch.manual_seed(1)
    relative, place = Shaw(4, causal=True), 30
    query, keys, values = numbers(1, 1, 1, 4), numbers(1, 1, 31, 4, seed=2), numbers(1, 1, 31, 4, seed=3)
    context, weights = attend(ScaledDot()(query, keys) + relative.bias(query, place, 31), values)
    never = torch.zeros(16, 4)
    _, expected = loops.shaw(
        query[0, 0, 0].tolist(),
        place,
        keys[0, 0].tolist(),
        values[0, 0].tolist(),
        key_vectors=torch.cat([relative.keys, never]).tolist(),
        value_vectors=torch.cat([relative.averaged, never]).tolist(),
        reach=16,
    )
    torch.testing.assert_close((context + relative.values(weights, place))[0, 0, 0], torch.tensor(expected))


@pytest.mark.parametrize("causal", [False, True])
def test_t5_buckets_are_those_of_the_definition(causal):
    distances = list(range(-300, 301))
    found = T5(2, causal).buckets(torch.tensor([distances]))[0].tolist()
    assert found == [loops.t5_bucket(distance, causal) for distance in distances]


@pytest.mark.parametrize(
    ("causal", "buckets"),
    [
        (
            False,
            {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -16: 10, -23: 11, -91: 15, -500: 15, 1: 17, 8: 24, 128: 31},
        ),
        (True, {5: 0, 0: 0, -15: 15, -16: 16, -18: 16, -19: 17, -21: 18, -128: 31, -113: 31, -112: 30, -9000: 31}),
    ],
)
def test_t5_buckets_worked_out_by_hand(causal, buckets):
    """8 * 16^(1/8) = 11.3, 16^(2/8) = 2, 8 * 16^(7/8) = 90.5; 16 * 8^(1/16) = 18.2, 8^(2/16) -> 20.7, 8^(15/16) -> 112.4."""
    found = T5(2, causal).buckets(torch.tensor([list(buckets)]))[0].tolist()
    assert found == list(buckets.values())


def test_t5_bias_is_a_number_for_each_head_and_bucket():
    relative = T5(3, causal=False)
    bias = relative.bias(numbers(1, 3, 4, 2), 2, 5)
    for head, row, key in ((0, 0, 4), (1, 3, 0), (2, 1, 3)):
        assert bias[0, head, row, key] == relative.table[loops.t5_bucket(key - (2 + row), causal=False), head]


def test_alibi_is_slope_times_distance():
    bias = build_relative("alibi", heads=8, head_dim=2, causal=True).bias(numbers(1, 8, 5, 2), 0, 5)
    for head in range(8):
        slope = 2 ** (-8 * (head + 1) / 8)
        assert bias[0, head].tolist() == [[-slope * abs(i - j) for j in range(5)] for i in range(5)]


def test_rotary_multiplies_complex_numbers():
    states, first = numbers(1, 2, 5, 6), 7
    turned = Rotary(6).rotate(states, first)
    for head in range(2):
        for place in range(5):
            expected = torch.tensor(loops.rotated(states[0, head, place].tolist(), first + place))
            torch.testing.assert_close(turned[0, head, place], expected, rtol=1e-5, atol=1e-5)


def test_rotary_products_depend_on_distance_alone():
    query, key = numbers(8).tolist(), numbers(8, seed=2).tolist()
    rotary = Rotary(8)
    for distance in (0, 1, 5, 40):
        expected = loops.dot(loops.rotated(query, distance), key)
        for place in (0, 3, 1000):
            turned_query = rotary.rotate(torch.tensor(query)[None, None, None], place + distance)
            turned_key = rotary.rotate(torch.tensor(key)[None, None, None], place)
            assert math.isclose((turned_query * turned_key).sum().item(), expected, rel_tol=1e-3, abs_tol=1e-3)
