"""Attention with several heads. Its equations are tested in `tests/reference`."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.attention import masks
from dragoman.attention.lookup import LookupOptions
from dragoman.attention.multi_head import MultiHead, ProjectionOptions
from dragoman.attention.relative import build_relative
from dragoman.attention.scores import CONTENT_BASED, PRODUCTS, ScoreName
from dragoman.attention.settings import RelativeName, WeightsName
from dragoman.errors import SettingsError
from dragoman.interfaces import Attention, KeyValues


def numbers(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def to_itself(relative: RelativeName, score: ScoreName = "scaled_dot", weights: WeightsName = "softmax") -> MultiHead:
    """Attention of a causal side to itself, with parameters large enough to show."""
    torch.manual_seed(1)
    knows = build_relative(relative, heads=2, head_dim=4, causal=True)
    for parameter in knows.parameters():
        torch.nn.init.normal_(parameter)
    return MultiHead(8, 2, score=score, kind=LookupOptions(weights), relative=knows).eval()


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_any_score_fits_into_the_heads(name: ScoreName) -> None:
    attention = MultiHead(8, 2, score=name)
    assert isinstance(attention, Attention)
    memory = attention.prepare(numbers(2, 5, 8), numbers(2, 5, 8, seed=2))
    attended = attention(numbers(2, 3, 8), memory, need_weights=True)
    assert attended.context.shape == (2, 3, 8) and attended.weights.shape == (2, 2, 3, 5)


def test_one_product_for_keys_and_values_is_two_products() -> None:
    attention, states = MultiHead(8, 2), numbers(2, 5, 8)
    torch.nn.init.normal_(attention.key_value.bias)
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
    with pytest.raises(SettingsError, match=r"model\.width 10.* 4 .*model\.heads.*model\.head_size"):
        MultiHead(10, 4)


def test_heads_may_be_of_any_size() -> None:
    attention, states = MultiHead(10, 4, projections=ProjectionOptions(3)), numbers(2, 5, 10)
    memory = attention.prepare(states, states)
    assert memory.keys.shape == memory.values.shape == (2, 4, 5, 3)
    attended = attention(states, memory, need_weights=True)
    assert attended.context.shape == (2, 5, 10) and attended.weights.shape == (2, 4, 5, 5)


def test_projections_may_have_no_biases() -> None:
    attention = MultiHead(8, 2, projections=ProjectionOptions(biases=False))
    assert [name for name, _ in attention.named_parameters()] == ["query.weight", "key_value.weight", "output.weight"]
    states = numbers(2, 5, 8)
    together, apart = attention.prepare(states, states), attention.prepare(states, states.clone())
    torch.testing.assert_close(together.keys, apart.keys)
    torch.testing.assert_close(together.values, apart.values)
    zeros = torch.zeros(1, 3, 8)
    assert not attention(zeros, attention.prepare(zeros, zeros)).context.any()


@settings(max_examples=40)
@given(
    relative=st.sampled_from(get_args(RelativeName)),
    score=st.sampled_from(get_args(ScoreName)),
    weights=st.sampled_from(get_args(WeightsName)),
    chunks=st.lists(st.integers(1, 13), min_size=1, max_size=6),
    asked=st.booleans(),
)
def test_a_side_read_in_any_chunks_is_the_side_read_at_once(
    relative: RelativeName, score: ScoreName, weights: WeightsName, chunks: list[int], asked: bool
) -> None:
    attention, states = to_itself(relative, score, weights), numbers(2, sum(chunks), 8)
    whole = attention(states, attention.prepare(states, states), masks.causal(*states.shape[1:2] * 2))
    grown: KeyValues | None = None
    contexts, first = [], 0
    for chunk in states.split(chunks, 1):
        new = attention.prepare(chunk, chunk, offset=first)
        grown = new if grown is None else grown.extend(new)
        mask = masks.causal(chunk.shape[1], grown.keys.shape[2])
        contexts.append(attention(chunk, grown, mask, offset=first, need_weights=asked).context)
        first += chunk.shape[1]
    torch.testing.assert_close(torch.cat(contexts, 1), whole.context, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("score", PRODUCTS)
@pytest.mark.parametrize("relative", get_args(RelativeName))
def test_the_fused_kernel_knows_the_same_distances_and_scores(relative: RelativeName, score: ScoreName) -> None:
    attention, states = to_itself(relative, score), numbers(2, 30, 8)
    memory, mask = attention.prepare(states, states), masks.causal(30, 30)
    with_weights = attention(states, memory, mask, need_weights=True)
    torch.testing.assert_close(attention(states, memory, mask).context, with_weights.context, rtol=1e-5, atol=1e-6)
    assert with_weights.weights is not None and not with_weights.weights.triu(1).any()


@pytest.mark.parametrize("relative", [name for name in get_args(RelativeName) if name != "none"])
def test_order_matters_to_attention_that_knows_distances(relative: RelativeName) -> None:
    attention, states = to_itself(relative), numbers(1, 5, 8)
    order = torch.tensor([3, 0, 4, 1, 2])
    moved = states[:, order]
    direct = attention(states, attention.prepare(states, states)).context
    other = attention(moved, attention.prepare(moved, moved)).context
    assert (other - direct[:, order]).abs().max() > 1e-3


@pytest.mark.parametrize("relative", get_args(RelativeName))
def test_all_that_knows_distances_is_trained(relative: RelativeName) -> None:
    attention, states = to_itself(relative).train(), numbers(1, 40, 8)
    attention(states, attention.prepare(states, states), masks.causal(40, 40)).context.square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in attention.relative.parameters())


@pytest.mark.parametrize("relative", get_args(RelativeName))
@pytest.mark.parametrize("weights", get_args(WeightsName))
def test_every_kind_computes_in_bfloat16(relative: RelativeName, weights: WeightsName) -> None:
    attention, states, mask = to_itself(relative, weights=weights), numbers(2, 20, 8), masks.causal(20, 20)
    exact = attention(states, attention.prepare(states, states), mask).context
    with torch.autocast("cpu", torch.bfloat16):
        context = attention(states, attention.prepare(states, states), mask).context
    context.float().square().sum().backward()
    torch.testing.assert_close(context.float(), exact, rtol=0.05, atol=0.05)
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in attention.parameters())
