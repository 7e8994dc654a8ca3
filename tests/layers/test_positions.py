"""Absolute positions."""

import math

import pytest
import torch

from dragoman.errors import InputError
from dragoman.layers.positions import (
    SINUSOIDS,
    LearnedPositions,
    SinusoidalPositions,
    build_positions,
    sinusoids,
    sinusoids_in_halves,
    sinusoids_of_m2m,
    sinusoids_of_marian,
)


def test_sinusoids_extend_past_any_length_and_begin_anywhere() -> None:
    torch.testing.assert_close(sinusoids(0, 9000, 6)[8990:], sinusoids(8990, 10, 6))


def test_sinusoids_of_an_offset_are_a_rotation() -> None:
    """PE(pos + k) is a linear function of PE(pos), the same for every pos (Vaswani et al. 2017, section 3.5)."""
    near, far = sinusoids(0, 50, 8), sinusoids(7, 50, 8)
    products = (near * far).sum(1)
    torch.testing.assert_close(products, products[:1].expand(50), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [8, 7])
def test_sinusoids_in_halves_are_the_same_numbers_in_another_order(width: int) -> None:
    mixed, halves = sinusoids(3, 20, width), sinusoids_in_halves(3, 20, width)
    torch.testing.assert_close(halves, torch.cat([mixed[:, ::2], mixed[:, 1::2]], 1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [8, 7, 2, 3])
def test_sinusoids_of_marian_end_at_ten_thousand(width: int) -> None:
    """Equation: sin(p 10000^(-i/(d/2-1))) at i, the cosine at d/2 + i."""
    half, found = width // 2, sinusoids_of_marian(5, 4, width)
    for row, position in enumerate(range(5, 9)):
        for index in range(half):
            angle = position / 10000 ** (index / max(half - 1, 1))
            assert found[row, index] == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[row, half + index] == pytest.approx(math.cos(angle), abs=1e-5)
    assert not found[:, 2 * half :].any()


def test_sinusoids_of_m2m_count_from_two() -> None:
    assert torch.equal(sinusoids_of_m2m(0, 9, 6), sinusoids_of_marian(2, 9, 6))


@pytest.mark.parametrize("name", SINUSOIDS)
def test_a_part_of_a_table_is_what_the_whole_has_there(name: str) -> None:
    table = SinusoidalPositions(10, name).table(0, 1000)
    assert torch.equal(SinusoidalPositions(10, name).table(990, 10), table[990:])


def test_positions_of_bart_leave_the_first_two_rows_unused() -> None:
    positions, states = build_positions("bart", 6, 10), torch.zeros(1, 10, 6)
    assert isinstance(positions, LearnedPositions) and positions.table.num_embeddings == 12
    assert torch.equal(positions(states)[0], positions.table.weight[2:])
    with pytest.raises(InputError, match=r"a sentence of 11 tokens is longer than the 10 positions"):
        positions(torch.zeros(1, 1, 6), offset=10)


@pytest.mark.parametrize("name", [*SINUSOIDS, "learned", "bart", "fixed"])
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
    for name in (*SINUSOIDS, "none"):
        assert not list(build_positions(name, 6, 10).parameters())
    assert [p.shape for p in build_positions("learned", 6, 10).parameters()] == [(10, 6)]


def test_fixed_positions_are_sinusoids_that_are_not_trained() -> None:
    positions = build_positions("fixed", 6, 10)
    assert torch.equal(positions(torch.zeros(1, 4, 6), offset=6)[0], sinusoids_in_halves(6, 4, 6))
    assert not [p for p in positions.parameters() if p.requires_grad]
    with pytest.raises(InputError, match=r"a sentence of 11 tokens is longer than the 10 positions"):
        positions(torch.zeros(1, 1, 6), offset=10)
