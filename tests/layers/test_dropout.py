"""Dropout by bytes of random words."""

import pytest
import torch

from dragoman.layers.dropout import Dropout

ONES = torch.ones(1000, 1001)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_rate_and_the_mean_are_kept(rate: float) -> None:
    torch.manual_seed(1)
    dropped = Dropout(rate)(ONES)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.004)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.006)


def test_what_is_kept_is_scaled_alike() -> None:
    torch.manual_seed(1)
    values = Dropout(0.3)(ONES).unique()
    assert len(values) == 2 and values[0] == 0
    assert values[1].item() == pytest.approx(256 / (256 - 77))


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(1)
    kept = (Dropout(0.5)(ONES) > 0).float()
    for apart in (1, 7, 8, 64):
        both = kept[:, apart:] * kept[:, :-apart]
        assert both.mean().item() == pytest.approx(0.25, abs=0.004)


def test_the_same_random_state_drops_the_same() -> None:
    layer = Dropout(0.3)
    first, other = (torch.manual_seed(5) and layer(ONES[:5]) for _ in range(2))
    assert torch.equal(first, other)
    assert not torch.equal(layer(ONES[:5]), other)


def test_gradients_pass_where_numbers_pass() -> None:
    torch.manual_seed(1)
    states = torch.ones(7, 3, requires_grad=True)
    dropped = Dropout(0.5)(states)
    dropped.sum().backward()
    assert torch.equal(states.grad, dropped.detach())


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5, 2), (0, 4)])
def test_any_shape_is_kept(shape: tuple[int, ...]) -> None:
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_nothing_is_dropped_outside_training_or_at_rate_zero() -> None:
    assert Dropout(0.5).eval()(ONES) is ONES
    assert Dropout(0.0)(ONES) is ONES


def test_a_rate_near_one_still_keeps_the_mean() -> None:
    torch.manual_seed(1)
    assert Dropout(0.999)(ONES).mean().item() == pytest.approx(1.0, abs=0.1)


def test_the_rate_is_shown() -> None:
    assert repr(Dropout(0.25)) == "Dropout(rate=0.25)"
