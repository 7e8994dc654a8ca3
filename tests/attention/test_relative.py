"""What attention to one's own side knows of distance."""

import math
from typing import get_args

import pytest
import torch
from torch import Tensor

from dragoman.attention.multi_head import MultiHead
from dragoman.attention.relative import (
    REACH,
    Relative,
    Rotary,
    Shaw,
    bucket_starts,
    build_relative,
    distances,
    slopes,
)
from dragoman.attention.settings import RelativeName
from dragoman.errors import SettingsError

NAMES: tuple[RelativeName, ...] = get_args(RelativeName)
HEADS, DIM = 4, 6

every_kind = pytest.mark.parametrize("name", NAMES)
either_side = pytest.mark.parametrize("causal", [False, True])


def numbers(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def kind(name: RelativeName, causal: bool = False, heads: int = HEADS) -> Relative:
    """A kind whose parameters are large enough to show."""
    torch.manual_seed(3)
    relative = build_relative(name, heads=heads, head_dim=DIM, causal=causal)
    for parameter in relative.parameters():
        torch.nn.init.normal_(parameter)
    return relative


def scores(relative: Relative, queries: Tensor, keys: Tensor, first: int = 0) -> Tensor:
    """Scaled dot products as each kind makes them; keys stand at 0, 1, ..., and the first query at `first`."""
    turned = relative.rotate(queries, first) / math.sqrt(DIM)
    products = turned @ relative.rotate(keys, 0).mT
    bias = relative.bias(queries, first, keys.shape[2])
    return products if bias is None else products + bias


@every_kind
@either_side
def test_queries_that_come_later_get_what_they_would_get_at_once(name: RelativeName, causal: bool) -> None:
    relative, queries, keys = kind(name, causal), numbers(2, HEADS, 40, DIM), numbers(2, HEADS, 40, DIM, seed=2)
    whole, weights = scores(relative, queries, keys), numbers(2, HEADS, 40, 40, seed=3).softmax(-1)
    averages = relative.values(weights, 0)
    for first in (0, 1, 25, 39):
        torch.testing.assert_close(scores(relative, queries[:, :, first:], keys, first), whole[:, :, first:])
        later = relative.values(weights[:, :, first:], first)
        assert (later is None) == (averages is None)
        if later is not None and averages is not None:
            torch.testing.assert_close(later, averages[:, :, first:])


@every_kind
def test_keys_can_be_turned_as_they_come(name: RelativeName) -> None:
    relative, keys = kind(name), numbers(1, HEADS, 9, DIM)
    pieces = [relative.rotate(keys[:, :, first : first + 4], first) for first in (0, 4, 8)]
    torch.testing.assert_close(torch.cat(pieces, 2), relative.rotate(keys, 0))


@every_kind
@either_side
def test_scores_of_equal_content_depend_on_distance_alone(name: RelativeName, causal: bool) -> None:
    """The same query and key everywhere: along each diagonal all is the same, however far past any sentence of training."""
    relative, time = kind(name, causal), 1200
    same = numbers(1, HEADS, 1, DIM).expand(-1, -1, time, -1)
    found = scores(relative, same, numbers(1, HEADS, 1, DIM, seed=2).expand_as(same))
    for offset in (0, -1, -2, -15, -16, -400, -1100):
        diagonal = found.diagonal(offset, -2, -1)
        torch.testing.assert_close(diagonal, diagonal[..., :1].expand_as(diagonal), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
@either_side
def test_near_and_far_keys_differ(name: RelativeName, causal: bool) -> None:
    same = numbers(1, HEADS, 1, DIM).expand(-1, -1, 6, -1)
    found = scores(kind(name, causal), same, same)
    assert (found[:, :, 5, :5] - found[:, :, 5, 5:]).abs().amin() > 1e-4


def test_no_kind_changes_nothing() -> None:
    states = numbers(1, HEADS, 3, DIM)
    relative = kind("none")
    assert relative.rotate(states, 5) is states and relative.bias(states, 0, 3) is None
    assert relative.values(states @ states.mT, 0) is None and not relative.state_dict()


@pytest.mark.parametrize(
    ("name", "shapes"), [("shaw", [(33, 6), (33, 6)]), ("t5", [(32, 4)]), ("alibi", []), ("rotary", [])]
)
def test_only_what_is_learned_is_saved(name: RelativeName, shapes: list[tuple[int, ...]]) -> None:
    saved = build_relative(name, heads=HEADS, head_dim=DIM, causal=False).state_dict()
    assert [tuple(tensor.shape) for tensor in saved.values()] == shapes


@every_kind
def test_each_kind_keeps_the_arithmetic_of_what_it_turns(name: RelativeName) -> None:
    assert kind(name).rotate(numbers(1, HEADS, 3, DIM).bfloat16(), 2).dtype == torch.bfloat16


@every_kind
def test_a_fused_kernel_may_be_used_where_scores_and_averages_are_left_alone(name: RelativeName) -> None:
    relative, states = kind(name), numbers(1, HEADS, 3, DIM)
    alone = relative.bias(states, 0, 3) is None and relative.values(states @ states.mT, 0) is None
    assert relative.fusible == alone


def test_what_another_kind_adds_to_scores_or_averages_is_never_lost_in_a_fused_kernel() -> None:
    class Nearer(Rotary):
        def bias(self, queries: Tensor, offset: int, keys: int) -> Tensor:
            return -distances(offset, queries.shape[2], keys).abs()[None, None].to(queries.dtype)

    class Counting(Relative):
        def values(self, weights: Tensor, offset: int) -> Tensor:
            return weights.sum(-1, keepdim=True)

    states = numbers(2, 3, 8)
    for relative in (Nearer(4), Counting()):
        attention = MultiHead(8, 2, relative=relative).eval()
        memory = attention.prepare(states, states)
        asked = attention(states, memory, need_weights=True).context
        torch.testing.assert_close(attention(states, memory).context, asked)


def test_shaw_gives_all_far_distances_one_vector() -> None:
    relative = kind("shaw")
    bias = relative.bias(numbers(1, HEADS, 60, DIM), 0, 60)
    assert bias is not None
    assert torch.equal(bias[:, :, 50, :34], bias[:, :, 50, :1].expand(-1, -1, 34))
    assert not torch.isclose(bias[:, :, 50, 35], bias[:, :, 50, 34]).any()


def test_shaw_has_no_vectors_for_a_future_that_is_not_seen() -> None:
    assert Shaw(DIM, causal=True).keys.shape == (REACH + 1, DIM)


def test_t5_tells_before_from_after_where_both_are_seen() -> None:
    bias = kind("t5").bias(numbers(1, HEADS, 3, DIM), 0, 3)
    assert bias is not None and not torch.isclose(bias[..., 0, 2], bias[..., 2, 0]).any()


def test_t5_bounds_of_both_sides() -> None:
    """Bidirectional, 16 buckets a side: 8 exact, then 8 * 16^(b/8); causal, 32 buckets: 16 exact, then 16 * 8^(b/16)."""
    assert bucket_starts(16, 128)[8:] == [math.ceil(8 * 16 ** (b / 8) - 1e-9) for b in range(8)]
    assert bucket_starts(32, 128)[16:] == [math.ceil(16 * 8 ** (b / 16) - 1e-9) for b in range(16)]


def test_alibi_slopes_of_8_heads_are_those_of_the_paper() -> None:
    assert slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_alibi_slopes_of_12_heads_are_8_and_every_other_one_of_16() -> None:
    assert slopes(12)[:8] == slopes(8)
    assert slopes(12)[8:] == pytest.approx([2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 6, 16, 20])
def test_alibi_has_a_slope_for_each_head(heads: int) -> None:
    assert len(set(slopes(heads))) == heads and all(0 < slope < 1 for slope in slopes(heads))


def test_alibi_takes_more_from_what_is_farther() -> None:
    bias = kind("alibi", heads=8).bias(numbers(1, 8, 1, DIM), 3, 5)
    assert bias is not None
    assert bias[0, 0, 0].tolist() == [-1.5, -1.0, -0.5, 0.0, -0.5]


def test_rotary_keeps_lengths() -> None:
    states = numbers(1, HEADS, 50, DIM)
    torch.testing.assert_close(Rotary(DIM).rotate(states, 900).norm(dim=-1), states.norm(dim=-1))


def test_rotary_refuses_heads_of_odd_size() -> None:
    with pytest.raises(SettingsError, match=r"`model\.relative: rotary`.* 5.*model\.width.*model\.heads"):
        build_relative("rotary", heads=2, head_dim=5, causal=True)


def test_distances_are_from_query_to_key() -> None:
    assert distances(2, 1, 4).tolist() == [[-2, -1, 0, 1]]
