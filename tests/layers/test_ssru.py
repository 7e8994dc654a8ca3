"""The simpler simple recurrent unit equals its equations, all at once and position by position."""

import torch

from dragoman.layers.ssru import SimplerRecurrentUnit


def test_it_equals_its_equations() -> None:
    torch.manual_seed(1)
    unit = SimplerRecurrentUnit(5).double()
    states = torch.randn(3, 7, 5, dtype=torch.float64)
    torch.nn.init.normal_(unit.forget.bias)
    output, _ = unit(states, None)
    for row in range(3):
        cell = torch.zeros(5, dtype=torch.float64)
        for position in range(7):
            x = states[row, position]
            forget = 1 / (1 + torch.exp(-(unit.forget.weight @ x + unit.forget.bias)))
            cell = forget * cell + (1 - forget) * (unit.inner.weight @ x)
            assert torch.allclose(output[row, position], cell.clamp_min(0), atol=1e-12)


def test_it_goes_on_where_it_stopped() -> None:
    torch.manual_seed(2)
    unit = SimplerRecurrentUnit(4).double()
    states = torch.randn(2, 6, 4, dtype=torch.float64)
    whole, last = unit(states, None)
    first, past = unit(states[:, :4], None)
    rest, end = unit(states[:, 4:], past)
    assert torch.allclose(torch.cat([first, rest], 1), whole) and torch.allclose(end.state, last.state)
