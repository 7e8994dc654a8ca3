"""Residual connections with their norm."""

import torch
from torch import Tensor, nn

from dragoman.layers.residual import Residual, RmsNorm, build_norm

STATES = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1))


def double(states: Tensor) -> Tensor:
    return 2 * states


def test_pre_norm_adds_to_what_came_in() -> None:
    residual = Residual(8, "pre", 0.0)
    torch.testing.assert_close(residual(STATES, double), STATES + 2 * residual.norm(STATES))


def test_post_norm_norms_the_sum() -> None:
    residual = Residual(8, "post", 0.0)
    result = residual(STATES, double)
    torch.testing.assert_close(result, residual.norm(3 * STATES))
    torch.testing.assert_close(result.mean(-1), torch.zeros(2, 3), rtol=0, atol=1e-6)


def test_dropout_is_on_the_sub_layer_and_not_on_what_came_in() -> None:
    torch.manual_seed(1)
    residual = Residual(8, "pre", 0.5)
    change = residual(STATES, lambda states: torch.ones_like(states)) - STATES
    assert set(change.round().unique().tolist()) == {0.0, 2.0}


def test_rms_norm_divides_by_the_root_mean_square() -> None:
    norm = RmsNorm(8)
    nn.init.normal_(norm.weight)
    for states in (STATES, STATES / 1000):  # so small that what is added shows
        expected = norm.weight * states / (states.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        torch.testing.assert_close(norm(states), expected)
    assert torch.equal(norm(torch.zeros(1, 8)), torch.zeros(1, 8))


def test_rms_norm_squares_half_precision_without_overflow() -> None:
    assert RmsNorm(8)(STATES.half() * 1000).isfinite().all()


def test_norms_have_kinds() -> None:
    assert isinstance(build_norm("layer", 4), nn.LayerNorm) and isinstance(build_norm("rms", 4), RmsNorm)
    residual = Residual(8, "post", 0.0, kind="rms")
    torch.testing.assert_close(residual(STATES, double), RmsNorm(8)(3 * STATES))
