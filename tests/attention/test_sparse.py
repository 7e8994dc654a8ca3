"""Sparsemax and entmax."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.attention.attend import attend, normalize
from dragoman.attention.masks import from_lengths
from dragoman.attention.settings import WeightsName
from dragoman.attention.sparse import entmax15, sparsemax

SPARSE: tuple[WeightsName, ...] = ("sparsemax", "entmax15")

both = pytest.mark.parametrize("name", SPARSE)
rows_of_scores = st.lists(st.floats(-6, 6, width=32), min_size=1, max_size=12)


def numbers(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@both
def test_weights_sum_to_one_over_the_keys_in_sight(name: WeightsName) -> None:
    weights = normalize(3 * numbers(2, 3, 9), from_lengths(torch.tensor([4, 9]), 9), name)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    assert (weights >= 0).all() and (weights[0, :, 4:] == 0).all()


@both
def test_most_keys_get_exactly_nothing(name: WeightsName) -> None:
    weights = normalize(3 * numbers(8, 40), None, name)
    assert (weights == 0).double().mean() > 0.7
    assert ((weights > 0).sum(-1) > 1).any()


def test_entmax_lies_between_softmax_and_sparsemax() -> None:
    scores = numbers(1, 30)
    kept = [int((normalize(scores, None, name) > 0).sum()) for name in ("softmax", "entmax15", "sparsemax")]
    assert kept[0] == 30 and kept == sorted(kept, reverse=True) and len(set(kept)) == 3


@both
def test_a_key_far_enough_below_the_best_gets_nothing_however_far(name: WeightsName) -> None:
    for far in (2.0, 1e4, 1e30, torch.inf):
        assert normalize(torch.tensor([[0.0, -far]]), None, name).tolist() == [[1.0, 0.0]]


@both
def test_very_large_scores_do_not_overflow(name: WeightsName) -> None:
    weights = normalize(torch.tensor([[1e30, -1e30, 1e30], [-3e38, -3e38, 3e38]]), None, name)
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]))


@both
def test_scores_that_are_not_numbers_give_weights_that_are_not_numbers(name: WeightsName) -> None:
    assert normalize(torch.tensor([[1.0, torch.nan, 2.0]]), None, name).isnan().any()


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_hidden_keys_have_weight_zero_in_every_arithmetic(name: WeightsName, dtype: torch.dtype) -> None:
    mask = torch.tensor([[[True, False, True, False, True]]])
    weights = normalize(numbers(1, 2, 5).to(dtype), mask, name)
    assert weights.dtype == dtype and (weights[~mask.expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1).float(), torch.ones(1, 2), rtol=0.01, atol=0.01)


@both
def test_half_precision_is_computed_in_float32(name: WeightsName) -> None:
    scores = numbers(4, 300).bfloat16()
    assert torch.equal(normalize(scores, None, name), normalize(scores.float(), None, name).bfloat16())


@both
def test_a_query_that_sees_nothing_gets_zeros_and_so_does_its_gradient(name: WeightsName) -> None:
    scores, values = numbers(1, 2, 3).requires_grad_(), numbers(1, 3, 4).requires_grad_()
    mask = torch.tensor([[[False, False, False], [True, True, True]]])
    context, weights = attend(scores, values, mask, normalizer=name)
    context.square().sum().backward()
    assert not context[0, 0].any() and not weights[0, 0].any()
    assert not scores.grad[0, 0].any() and scores.grad[0, 1].any() and values.grad.isfinite().all()


@both
@pytest.mark.parametrize("masked", [False, True])
def test_the_gradient_is_that_of_finite_differences(name: WeightsName, masked: bool) -> None:
    scores = (2 * numbers(3, 2, 6)).double().requires_grad_()
    mask = from_lengths(torch.tensor([6, 4, 1]), 6) if masked else None
    assert torch.autograd.gradcheck(lambda given: normalize(given, mask, name), scores)


@both
def test_the_gradient_of_half_precision_is_finite_and_of_its_kind(name: WeightsName) -> None:
    scores = numbers(2, 7).bfloat16().requires_grad_()
    (normalize(scores, None, name) * torch.arange(7)).sum().backward()
    assert scores.grad.dtype == torch.bfloat16 and scores.grad.isfinite().all() and scores.grad.any()


@both
@given(scores=rows_of_scores, shift=st.floats(-100, 100))
def test_adding_a_number_to_all_scores_changes_nothing(name: WeightsName, scores: list[float], shift: float) -> None:
    row = torch.tensor([scores], dtype=torch.float64)
    torch.testing.assert_close(normalize(row + shift, None, name), normalize(row, None, name), rtol=0, atol=1e-6)


@both
@given(scores=rows_of_scores)
def test_a_better_score_never_gets_less_and_equal_ones_get_the_same(name: WeightsName, scores: list[float]) -> None:
    weights = normalize(torch.tensor([scores]), None, name)[0]
    assert weights.sum().item() == pytest.approx(1, abs=1e-5)
    order = sorted(range(len(scores)), key=lambda index: scores[index])
    ranked = weights[order].tolist()
    assert ranked == sorted(ranked)
    assert all(weights[a] == weights[b] for a in order for b in order if scores[a] == scores[b])


@both
@given(scores=rows_of_scores, hidden=st.lists(st.floats(-6, 60), min_size=1, max_size=4))
def test_hiding_keys_is_leaving_them_out(name: WeightsName, scores: list[float], hidden: list[float]) -> None:
    mask = torch.tensor([[False] * len(hidden) + [True] * len(scores)])
    weights = normalize(torch.tensor([[*hidden, *scores]]), mask, name)
    assert not weights[:, : len(hidden)].any()
    torch.testing.assert_close(weights[:, len(hidden) :], normalize(torch.tensor([scores]), None, name))


def test_scores_within_the_simplex_are_their_own_projection() -> None:
    scores = torch.tensor([[0.25, 0.75, 0.0], [0.125, 0.375, 0.5]])
    torch.testing.assert_close(sparsemax(scores), scores)


def test_two_scores_give_entmax_of_the_paper() -> None:
    """Solved by hand for scores t and 0: w = (t/4 + sqrt(1/2 - t^2/16))^2 for |t| <= 2 (Peters et al. 2019, figure 3)."""
    for t in (-1.5, -0.5, 0.0, 1.0, 1.9):
        expected = (t / 4 + (1 / 2 - t * t / 16) ** 0.5) ** 2
        assert entmax15(torch.tensor([[t, 0.0]]))[0, 0].item() == pytest.approx(expected, abs=1e-6)
