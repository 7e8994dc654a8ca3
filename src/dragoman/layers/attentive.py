"""The loop of recurrent decoders that attend: at each target position they read the source once and take one step.

Bahdanau et al. 2015 attend with the state before the step, and the context enters the step; Luong et al. 2015 attend with the
new state, and what they make of it may enter the next step. What enters depends on the position before, so this is the one part
of a decoder that no product over all positions can do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.attention import masks
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attended, Choice, KeyValues
from dragoman.layers.dropout import Dropout
from dragoman.layers.recurrent import InputMap, State
from dragoman.native.recurrence import AttentionInputs, FusedRnnOutput


@dataclass(frozen=True)
class AttendedSource:
    """The source as a decoder attends to it: prepared keys and values, and where they are real."""

    mask: Bool[Tensor, "batch source"]
    memory: KeyValues


@dataclass(frozen=True)
class AttendBefore:
    """Attend with the state of the step before; the context enters the step (Bahdanau et al. 2015, section 3.1)."""

    dropout: Dropout | None = None
    """Applied to the context that enters, not to the one that is returned."""


@dataclass(frozen=True)
class AttendAfter:
    """Attend with the new state; something is fed into the next step (Luong et al. 2015, section 3.3)."""

    fed: Float[Tensor, "batch dim"]
    """What the first step is fed."""
    enter: Callable[[Tensor, int], Tensor]
    """Makes (batch, 1, entering) of what was fed, for a target position counted from 0."""
    feed: Callable[[Tensor, Attended, int], Tensor]
    """Makes what the next step is fed (batch, dim) of the new state, what it attended to, and the position."""
    combine: Float[Tensor, "dim both"] | None = None
    """W_c, where what is fed is tanh(W_c [c; h]) and enters as it is."""


@runtime_checkable
class Cell(Protocol):
    """Recurrent layers that can take one step at a time: `RecurrentStack` and `ProjectedLstm`."""

    def query(self, state: State) -> Float[Tensor, "batch 1 hidden"]:
        """Return what the source is read with."""
        ...

    def input_maps(self, size: int) -> tuple[InputMap, InputMap]:
        """Cut the product with the input into that with its first `size` features and that with the others."""
        ...

    def step(
        self, projected: Float[Tensor, "batch gates"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """Run one position, its input given as the sum of what `input_maps` made of each part of it."""
        ...

    def can_fuse(self, inputs: Float[Tensor, "batch time _"]) -> bool:
        """Tell whether `run_fused` may run over these inputs."""
        ...

    def run_fused(
        self, inputs: Float[Tensor, "batch time part"], state: State, source: AttentionInputs | None = None
    ) -> FusedRnnOutput:
        """Run all positions as one operation."""
        ...


@dataclass(frozen=True)
class AttentiveOutput:
    """What all steps of the loop gave."""

    states: Float[Tensor, "batch target hidden"]
    attended: Attended
    """What each position attended to."""
    last: State
    fed: Float[Tensor, "batch target dim"] | None = None
    """What each step fed into the next."""
    fused: bool = False
    """Whether all steps were one operation."""

    @property
    def attention(self) -> Float[Tensor, "batch 1 1 target source"] | None:
        """The weights, where they were asked for, as those of one layer with one head."""
        return None if self.attended.weights is None else self.attended.weights[:, None]


def attend_and_step(
    cell: Cell,
    attention: SingleHead,
    embedded: Float[Tensor, "batch target embedding"],
    *,
    source: AttendedSource,
    state: State,
    order: AttendBefore | AttendAfter,
    offset: int = 0,
    need_weights: bool = False,
) -> AttentiveOutput:
    """Read the source and step at each position of `embedded`, whose features enter the cell first.

    `offset` is the position of the first of them. Where `can_fuse` says so the loop is one operation in C++, equal to the plain
    loop here within rounding.
    """
    if can_fuse(cell, attention, embedded, source=source, order=order):
        fused = _run_fused(cell, attention, embedded, source=source, state=state, order=order)
        return fused if need_weights else replace(fused, attended=Attended(fused.attended.context, None))
    mask = masks.to_source(source.mask)
    own_map, entering_map = cell.input_maps(embedded.shape[-1])
    fed = [] if isinstance(order, AttendBefore) else [order.fed]
    outputs: list[Tensor] = []
    attended: list[Attended] = []
    for index, own in enumerate(own_map(embedded).unbind(1)):
        position = offset + index
        if isinstance(order, AttendBefore):
            query = cell.query(state)
            attended.append(attention(query, source.memory, mask, offset=position, need_weights=need_weights))
            context = attended[-1].context
            entering = context if order.dropout is None else order.dropout(context)
        else:
            entering = order.enter(fed[-1], index)
        output, state = cell.step(own + entering_map(entering)[:, 0], state)
        outputs.append(output)
        if isinstance(order, AttendAfter):
            query = output[:, None]
            attended.append(attention(query, source.memory, mask, offset=position, need_weights=need_weights))
            fed.append(order.feed(output, attended[-1], index))
    return AttentiveOutput(torch.stack(outputs, 1), _joined(attended), state, torch.stack(fed[1:], 1) if fed else None)


def can_fuse(
    cell: Cell,
    attention: SingleHead,
    embedded: Float[Tensor, "batch target embedding"],
    *,
    source: AttendedSource,
    order: AttendBefore | AttendAfter,
) -> bool:
    """Tell whether the whole loop may run as one operation.

    It may where the cell says so and each row has a source of its own; where attention is softmax and average of a score that
    C++ knows, without dropout; and where what is fed, if anything, is Luong's attention vector. Posterior attention feeds
    what the output layer predicts from each source position: that costs so much more than the loop that nothing would be gained.
    """
    known = isinstance(order, AttendBefore) or order.combine is not None
    own_sources = len(embedded) == len(source.mask)
    return known and own_sources and cell.can_fuse(embedded) and attention.score_parts() is not None


def _run_fused(
    cell: Cell,
    attention: SingleHead,
    embedded: Float[Tensor, "batch target embedding"],
    *,
    source: AttendedSource,
    state: State,
    order: AttendBefore | AttendAfter,
) -> AttentiveOutput:
    """Run the loop as one operation."""
    parts = attention.score_parts()
    assert parts is not None
    keys, values = source.memory.keys[:, 0], source.memory.values[:, 0]
    inputs = AttentionInputs(
        keys, values, source.mask, parts.query, parts.energy, squashed=parts.squashed, scale=parts.scale
    )
    if isinstance(order, AttendAfter):
        inputs = replace(inputs, combine=order.combine, fed=order.fed)
    elif order.dropout is not None:
        inputs = replace(inputs, keep=order.dropout.keep((embedded.shape[1], *values[:, 0].shape)))
    output = cell.run_fused(embedded, state, inputs)
    attended = Attended(output.contexts, output.weights[:, None])
    fed = output.fed if isinstance(order, AttendAfter) else None
    return AttentiveOutput(output.states, attended, output.last, fed, fused=True)


def _joined(attended: list[Attended]) -> Attended:
    """Join what was attended to at single positions."""
    weights = [step.weights for step in attended if step.weights is not None]
    choices = [step.choice for step in attended if step.choice is not None]
    choice = (
        Choice(torch.cat([c.log_prob for c in choices], 1), torch.cat([c.entropy for c in choices], 1))
        if choices
        else None
    )
    return Attended(
        torch.cat([step.context for step in attended], 1), torch.cat(weights, 2) if weights else None, choice
    )
