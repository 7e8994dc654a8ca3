"""Sparse weights against halving in on tau, in loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import loops

from dragoman.attention.sparse import entmax15, sparsemax

both = pytest.mark.parametrize(("function", "alpha"), [(sparsemax, 2.0), (entmax15, 1.5)])


@both
@given(scores=st.lists(st.floats(-4, 4), min_size=1, max_size=20), factor=st.sampled_from([0.01, 1.0, 30.0]))
def test_sorting_finds_what_halving_finds(function, alpha, scores, factor):
    scores = [factor * score for score in scores]
    found = function(torch.tensor([scores], dtype=torch.float64))[0]
    expected = torch.tensor(loops.sparse_weights(scores, alpha), dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)


@both
@pytest.mark.parametrize("step", [0.003, 0.05, 0.4])
def test_a_key_just_inside_the_support_is_not_missed(function, alpha, step):
    scores = (-step * torch.arange(300, dtype=torch.float64)).tolist()
    expected = torch.tensor(loops.sparse_weights(scores, alpha), dtype=torch.float64)
    torch.testing.assert_close(function(torch.tensor([scores], dtype=torch.float64))[0], expected, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("size", [1, 2, 7, 600])
def test_float32_finds_it_within_its_rounding(function, alpha, size):
    scores = torch.randn(size, generator=torch.Generator().manual_seed(size))
    expected = torch.tensor(loops.sparse_weights(scores.tolist(), alpha))
    torch.testing.assert_close(function(scores[None])[0], expected, rtol=1e-4, atol=1e-6)


@both
def test_hidden_keys_are_not_in_the_loop(function, alpha):
    scores, mask = torch.tensor([[0.3, 9.0, 0.1, -0.2]]), torch.tensor([[True, False, True, True]])
    expected = loops.sparse_weights(scores[mask].tolist(), alpha)
    torch.testing.assert_close(function(scores, mask)[mask], torch.tensor(expected))
