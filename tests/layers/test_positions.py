"""Absolute positions."""

import pytest
import torch

from dragoman.errors import InputError
from dragoman.layers.positions import LearnedPositions, SinusoidalPositions, build_positions, sinusoids


def test_sinusoids_extend_past_any_length_and_begin_anywhere() -> None:
    torch.testing.assert_close(sinusoids(0, 9000, 6)[8990:], sinusoids(8990, 10, 6))


def test_sinusoids_of_an_offset_are_a_rotation() -> None:
    """PE(pos + k) is a linear function of PE(pos), the same for every pos (Vaswani et al. 2017, section 3.5)."""
    near, far = sinusoids(0, 50, 8), sinusoids(7, 50, 8)
    products = (near * far).sum(1)
    torch.testing.assert_close(products, products[:1].expand(50), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_positions_go_on_where_the_last_ended(name: str) -> None:
    positions, states = build_positions(name, 6, 10), torch.randn(2, 7, 6)
    whole = positions(states)
    torch.testing.assert_close(positions(states[:, 4:], offset=4), whole[:, 4:])
    assert not torch.allclose(positions(states[:, 4:]), whole[:, 4:])


def test_sinusoids_take_the_arithmetic_of_the_states() -> None:
    assert SinusoidalPositions(6)(torch.zeros(1, 2, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_learned_positions_refuse_a_longer_sentence() -> None:
    positions = LearnedPositions(6, 10)
    assert positions(torch.zeros(1, 10, 6)).shape == (1, 10, 6)
    with pytest.raises(
        InputError, match=r"a sentence of 11 tokens is longer than the 10 positions of this model; shorten it"
    ):
        positions(torch.zeros(1, 1, 6), offset=10)


def test_no_positions_add_nothing_however_long_the_sentence() -> None:
    states = torch.randn(2, 700, 6)
    assert torch.equal(build_positions("none", 6, 10)(states, offset=4), states)


def test_only_learned_positions_have_parameters() -> None:
    for name in ("sinusoidal", "none"):
        assert not list(build_positions(name, 6, 10).parameters())
    assert [p.shape for p in build_positions("learned", 6, 10).parameters()] == [(10, 6)]
