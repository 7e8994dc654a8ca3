"""Dropout by bytes of random words."""

import pytest
import torch

from dragoman.layers.dropout import Dropout, dropout_rates, switch_dropout

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


def test_all_that_drops_can_be_switched_off_and_on_again() -> None:
    model = torch.nn.Sequential(Dropout(0.5), torch.nn.LSTM(3, 3, 2, dropout=0.25), torch.nn.Linear(3, 3))
    rates = dropout_rates(model)
    switch_dropout(rates, on=False)
    assert model[0](ONES) is ONES and model[1].dropout == 0.0
    switch_dropout(rates, on=True)
    assert (model[0](ONES) == 0).any() and model[1].dropout == 0.25


def test_the_rate_is_shown() -> None:
    assert repr(Dropout(0.25)) == "Dropout(rate=0.25)"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_adding_in_the_same_pass_is_dropping_and_adding(dtype: torch.dtype) -> None:
    layer, given = Dropout(0.3), torch.randn(9, 5, generator=torch.Generator().manual_seed(1))
    results = []
    for adds in (True, False):
        torch.manual_seed(2)
        states, output = (given[rows].to(dtype).requires_grad_() for rows in (slice(5), slice(4, 9)))
        added = layer.add(states, output) if adds else states + layer(output)
        added.float().square().sum().backward()
        results.append((added, states.grad, output.grad))
    for first, other in zip(*results, strict=True):
        torch.testing.assert_close(first, other)
    assert (results[0][2] == 0).any() and torch.equal(layer.eval().add(given, given), given + given)


def test_in_bfloat16_the_mean_is_kept() -> None:
    torch.manual_seed(1)
    states = (1 + torch.rand(1000, 1001)).bfloat16()
    dropped, kept = Dropout(0.1)(states).double(), 1 - round(0.1 * 256) / 256
    through = dropped != 0
    assert dropped.sum().item() / states.double()[through].sum().item() == pytest.approx(1 / kept, rel=3e-4)


@pytest.mark.parametrize("shape", [(5, 7), (1000, 33)])
def test_a_compiler_draws_the_same(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for compiling in (False, True):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda compiling=compiling: compiling)
        torch.manual_seed(3)
        found.append((Dropout(0.4)(torch.ones(shape)), torch.rand(2)))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])
