"""Attention with several heads. Its equations are tested in `tests/reference`."""

from typing import get_args

import pytest
import torch

from dragoman.attention import masks
from dragoman.attention.multi_head import MultiHead
from dragoman.attention.scores import CONTENT_BASED, ScoreName
from dragoman.errors import SettingsError
from dragoman.interfaces import Attention, KeyValues


def numbers(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_any_score_fits_into_the_heads(name: ScoreName) -> None:
    attention = MultiHead(8, 2, score=name)
    assert isinstance(attention, Attention)
    memory = attention.prepare(numbers(2, 5, 8), numbers(2, 5, 8, seed=2))
    attended = attention(numbers(2, 3, 8), memory, need_weights=True)
    assert attended.context.shape == (2, 3, 8) and attended.weights.shape == (2, 2, 3, 5)


def test_one_product_for_keys_and_values_is_two_products() -> None:
    attention, states = MultiHead(8, 2), numbers(2, 5, 8)
    together, apart = attention.prepare(states, states), attention.prepare(states, states.clone())
    torch.testing.assert_close(together.keys, apart.keys)
    torch.testing.assert_close(together.values, apart.values)


@pytest.mark.parametrize("name", CONTENT_BASED)
@pytest.mark.parametrize("asked", [True, False])
def test_the_order_of_keys_does_not_matter(name: ScoreName, asked: bool) -> None:
    attention, order = MultiHead(8, 2, score=name).eval(), torch.tensor([3, 0, 4, 1, 2])
    queries, states = numbers(2, 3, 8), numbers(2, 5, 8, seed=2)
    mask = masks.from_lengths(torch.tensor([5, 3]), 5)
    direct = attention(queries, attention.prepare(states, states), mask, need_weights=asked)
    moved = states[:, order]
    other = attention(queries, attention.prepare(moved, moved), mask[..., order], need_weights=asked)
    torch.testing.assert_close(other.context, direct.context, rtol=1e-5, atol=1e-6)


def test_memory_may_grow_position_by_position() -> None:
    attention, states = MultiHead(8, 2).eval(), numbers(2, 4, 8)
    whole = attention.prepare(states, states)
    grown: KeyValues | None = None
    for state in states.split(1, 1):
        new = attention.prepare(state, state)
        grown = new if grown is None else grown.extend(new)
    assert grown is not None
    torch.testing.assert_close(grown.keys, whole.keys)
    torch.testing.assert_close(grown.values, whole.values)


@pytest.mark.parametrize("asked", [True, False])
def test_a_query_that_sees_nothing_gets_the_output_bias(asked: bool) -> None:
    attention, states = MultiHead(8, 2), numbers(1, 3, 8)
    torch.nn.init.normal_(attention.output.bias)
    nothing = torch.zeros(1, 1, 3, dtype=torch.bool)
    context = attention(states, attention.prepare(states, states), nothing, need_weights=asked).context
    torch.testing.assert_close(context, attention.output.bias.expand(1, 3, 8))


@pytest.mark.parametrize("asked", [True, False])
def test_dropout_is_for_training_only(asked: bool) -> None:
    attention, states = MultiHead(8, 2, dropout=0.5), numbers(1, 6, 8)
    memory = attention.prepare(states, states)
    one, other = (attention(states, memory, need_weights=asked).context for _ in range(2))
    assert not torch.equal(one, other)
    attention.eval()
    one, other = (attention(states, memory, need_weights=asked).context for _ in range(2))
    assert torch.equal(one, other)


def test_a_width_that_does_not_divide_into_heads_is_refused() -> None:
    with pytest.raises(
        SettingsError, match=r"model\.width 10 does not divide into 4 heads; choose a multiple of model\.heads"
    ):
        MultiHead(10, 4)
