"""The loop of attending decoders. Its equations, and the fused one's gradients, are tested in `tests/reference`."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.attention.lookup import LookupOptions
from dragoman.attention.scores import ScoreName, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attended
from dragoman.layers.attentive import (
    AttendAfter,
    AttendBefore,
    AttendedSource,
    AttentiveOutput,
    attend_and_step,
    can_fuse,
)
from dragoman.layers.dropout import Dropout
from dragoman.layers.recurrent import RecurrentStack, zero_state
from dragoman.machine.compute_plan import ComputePlan

HIDDEN, EMBEDDING, SOURCE = 4, 3, 5
EMBEDDED = torch.randn(2, 6, EMBEDDING, generator=torch.Generator().manual_seed(1))


def cell_of(entering: int = HIDDEN) -> RecurrentStack:
    """A GRU that reads an embedding and something else."""
    torch.manual_seed(2)
    return RecurrentStack("gru", EMBEDDING + entering, HIDDEN, layers=1, dropout=0.0)


def attention_of(score: ScoreName = "additive", **options: Any) -> SingleHead:
    """Attention with queries and keys of one size."""
    torch.manual_seed(3)
    return SingleHead(build_score(score, HIDDEN, HIDDEN, hidden=4, positions=9), HIDDEN, LookupOptions(**options))


def source_of(attention: SingleHead) -> AttendedSource:
    """Two sentences, the second of them shorter."""
    torch.manual_seed(4)
    states = torch.randn(2, SOURCE, HIDDEN)
    return AttendedSource(torch.arange(SOURCE) < torch.tensor([[SOURCE], [2]]), attention.prepare(states, states))


def run(order: AttendBefore | AttendAfter, embedded: Tensor = EMBEDDED, **given: Any) -> AttentiveOutput:
    """Run the plain loop from zeros."""
    attention = attention_of()
    state = given.pop("state", zero_state(embedded, 1, HIDDEN))
    source = source_of(attention)
    return attend_and_step(cell_of(), attention, embedded, source=source, state=state, order=order, **given)


def after(combine: Tensor | None = None, seen: list[int] | None = None) -> AttendAfter:
    """Feed the new state plus what it attended to."""

    def feed(output: Tensor, attended: Attended, index: int) -> Tensor:
        if seen is not None:
            seen.append(index)
        return output + attended.context[:, 0]

    return AttendAfter(torch.zeros(2, HIDDEN), lambda fed, index: fed[:, None], feed, combine)


def test_before_the_first_step_the_first_state_is_the_query() -> None:
    attention, order = attention_of(), AttendBefore()
    first = torch.randn(2, 1, HIDDEN)
    output = run(order, state=(first,))
    expected = attention(first, source_of(attention).memory, source_of(attention).mask[:, None])
    torch.testing.assert_close(output.attended.context[:, :1], expected.context)
    assert output.fed is None and output.attended.weights is None and not output.fused


def test_after_the_step_the_new_state_is_the_query_and_is_fed() -> None:
    attention, seen = attention_of(), list[int]()
    output = run(after(seen=seen))
    expected = attention(output.states, source_of(attention).memory, source_of(attention).mask[:, None])
    torch.testing.assert_close(output.attended.context, expected.context)
    assert output.fed is not None and seen == [0, 1, 2, 3, 4, 5]
    torch.testing.assert_close(output.fed, output.states + output.attended.context)


@pytest.mark.parametrize("kind", ["before", "after"])
def test_a_loop_can_be_cut_in_two(kind: str) -> None:
    order: AttendBefore | AttendAfter = AttendBefore() if kind == "before" else after()
    whole = run(order, need_weights=True)
    left = run(order, EMBEDDED[:, :4], need_weights=True)
    if isinstance(order, AttendAfter):
        assert left.fed is not None
        order = replace(order, fed=left.fed[:, -1])
    right = run(order, EMBEDDED[:, 4:], need_weights=True, state=left.last, offset=4)
    torch.testing.assert_close(torch.cat([left.states, right.states], 1), whole.states)
    assert whole.attention is not None and left.attention is not None and right.attention is not None
    torch.testing.assert_close(torch.cat([left.attention, right.attention], 3), whole.attention)
    assert whole.attention.shape == (2, 1, 1, 6, SOURCE)


def test_a_context_is_dropped_where_it_enters_but_returned_whole() -> None:
    everything = Dropout(0.999).train()
    first = torch.randn(2, 1, HIDDEN)
    torch.manual_seed(1)
    dropped = run(AttendBefore(everything), EMBEDDED[:, :1], state=(first,))
    kept = run(AttendBefore(), EMBEDDED[:, :1], state=(first,))
    assert torch.equal(dropped.attended.context, kept.attended.context)
    assert not torch.equal(dropped.states, kept.states)


@pytest.mark.parametrize(
    ("change", "fused"),
    [
        ({}, True),
        ({"score": "cosine"}, False),
        ({"weights": "sparsemax"}, False),
        ({"native": False}, False),
        ({"positions": 1}, False),
        ({"copies": 2}, False),
        ({"order": after(nn.Linear(2 * HIDDEN, HIDDEN).weight)}, True),
        ({"order": after()}, False),
    ],
    ids=[
        "as it is",
        "another score",
        "sparse",
        "not native",
        "positions",
        "copies",
        "attends after, fed",
        "attends after",
    ],
)
def test_a_loop_that_cpp_can_express_is_one_operation(change: dict[str, Any], fused: bool) -> None:
    cell = cell_of()
    cell.plan = ComputePlan(native=change.pop("native", True))
    embedded = EMBEDDED[:, : change.pop("positions", 6)].repeat(change.pop("copies", 1), 1, 1)
    order = change.pop("order", AttendBefore())
    attention = attention_of(**change)
    assert can_fuse(cell, attention, embedded, source=source_of(attention), order=order) == fused
