"""The only softmax over keys."""

import pytest
import torch
from torch import Tensor

from dragoman.attention.attend import attend, attend_scaled_dot, masked_softmax
from dragoman.attention.masks import causal, from_lengths
from dragoman.attention.scores import ScaledDot


def numbers(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_weights_sum_to_one_over_the_keys_in_sight() -> None:
    weights = masked_softmax(numbers(2, 3, 4), from_lengths(torch.tensor([1, 3]), 4))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    assert (weights[0, :, 1:] == 0).all() and (weights[1, :, 3:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_hidden_keys_have_weight_zero_in_every_arithmetic(dtype: torch.dtype) -> None:
    scores = (100 * numbers(1, 2, 5)).to(dtype)
    mask = torch.tensor([[[True, False, True, False, True]]])
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype and weights.isfinite().all()
    assert (weights[~mask.expand_as(weights)] == 0).all()


def test_very_large_and_very_small_scores_do_not_overflow() -> None:
    weights = masked_softmax(torch.tensor([[1e30, -1e30, 1e30]]), torch.tensor([[True, True, True]]))
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0.0, 0.5]]))


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    context, weights = attend(numbers(1, 2, 3), numbers(1, 3, 4), torch.zeros(1, 1, 3, dtype=torch.bool))
    assert not context.any() and not weights.any()


def test_dropout_touches_the_average_and_not_the_weights_returned() -> None:
    torch.manual_seed(1)
    scores, values = torch.zeros(1, 1, 64), torch.ones(1, 64, 1)
    context, weights = attend(scores, values, dropout=0.5)
    assert torch.equal(weights, torch.full((1, 1, 64), 1 / 64))
    kept = context.item() * 64 / 2
    assert kept == pytest.approx(round(kept)) and 16 < kept < 48


@pytest.mark.parametrize("mask", [None, causal(3, 5)[None], from_lengths(torch.tensor([2, 0]), 5)[:, None]])
def test_the_fused_kernel_is_the_open_path(mask: Tensor | None) -> None:
    queries, keys, values = numbers(2, 2, 3, 4), numbers(2, 2, 5, 4, seed=2), numbers(2, 2, 5, 6, seed=3)
    fused = attend_scaled_dot(queries, keys, values, mask=mask)
    context, _ = attend(ScaledDot()(queries, keys), values, mask)
    torch.testing.assert_close(fused, context, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", [None, causal(3, 3)[None], from_lengths(torch.tensor([2, 0]), 3)[:, None]])
@pytest.mark.parametrize("short", [3, 2], ids=["by products", "in float32"])
def test_on_a_cpu_bfloat16_gives_what_float32_gives_within_rounding(
    short: int, mask: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.attention.attend.SHORT", short)
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        own = [numbers(2, 2, 3, 4, seed=seed).bfloat16().to(dtype).requires_grad_() for seed in (1, 2, 3)]
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
            context = attend_scaled_dot(own[0], own[1], own[2], mask=mask)
        assert context.dtype == (torch.bfloat16 if dtype is torch.bfloat16 and short == 3 else torch.float32)
        context.float().square().sum().backward()
        results.append([context.float(), *(one.grad.float() for one in own if one.grad is not None)])
    for exact, rounded in zip(*results, strict=True):
        torch.testing.assert_close(rounded, exact, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4)])
def test_nothing_is_attended_to_by_nobody(shape: tuple[int, ...]) -> None:
    queries, keys = numbers(*shape).bfloat16(), numbers(*shape[:2], 5, 4).bfloat16()
    for mask in (None, torch.ones(1, 1, 1, 5, dtype=torch.bool)):
        assert attend_scaled_dot(queries, keys, keys, mask=mask).shape == shape
