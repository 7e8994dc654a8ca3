"""Residual connections with their norm."""

import torch
from torch import Tensor

from dragoman.layers.residual import Residual

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
