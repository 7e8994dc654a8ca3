"""The loop of recurrent decoders with attention: attend to the source and take one step at each target position.

Bahdanau et al. 2015 attend with the previous state, and the context is an input of the step; Luong et al. 2015 attend with
the new state, and the result may be an input of the next step. These inputs depend on the previous position, so this is the
one part of a decoder that cannot be computed for all positions at once.
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
    embedded: Float[Tensor, "batch source embedding"] | None = None
    """Its embeddings, for a lexical module."""


@dataclass(frozen=True)
class AttendBefore:
    """Attend with the previous state; the context is an input of the step (Bahdanau et al. 2015, section 3.1)."""

    dropout: Dropout | None = None
    """Applied to the context as an input, not to the one that is returned."""


@dataclass(frozen=True)
class AttendAfter:
    """Attend with the new state; something is fed into the next step (Luong et al. 2015, section 3.3)."""

    fed: Float[Tensor, "batch dim"]
    """The vector fed into the first step."""
    enter: Callable[[Tensor, int], Tensor]
    """Maps the fed vector to the cell's input (batch, 1, entering), given the index of the target position from 0."""
    feed: Callable[[Tensor, Attended, int], Tensor]
    """Computes the vector fed into the next step (batch, dim) from the new state, its attention, and the position."""
    combine: Float[Tensor, "dim both"] | None = None
    """W_c, if the fed vector is tanh(W_c [c; h]) and is the cell's input as it is."""


@runtime_checkable
class Cell(Protocol):
    """Recurrent layers that can take one step at a time: `RecurrentStack` and `ProjectedLstm`."""

    def query(self, state: State) -> Float[Tensor, "batch 1 hidden"]:
        """Return the attention query."""
        ...

    def input_maps(self, size: int) -> tuple[InputMap, InputMap]:
        """Split the input projection into that of the first `size` features and that of the others."""
        ...

    def step(
        self, projected: Float[Tensor, "batch gates"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """Run one position, its input given as the sum of the projections from `input_maps`."""
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
    """The results of all steps of the loop."""

    states: Float[Tensor, "batch target hidden"]
    attended: Attended
    """The context, and perhaps the weights, of each position."""
    last: State
    fed: Float[Tensor, "batch target dim"] | None = None
    """The vector that each step fed into the next."""
    fused: bool = False
    """Whether all steps ran as one operation."""

    @property
    def attention(self) -> Float[Tensor, "batch 1 1 target source"] | None:
        """The weights, if requested, as those of one layer with one head."""
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
    """Attend and step at each position of `embedded`, whose features come first in the cell's input.

    `offset` is the first position. Where `can_fuse` allows it, the loop is one operation in C++, equal to the plain loop
    here up to rounding.
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
    """Tell whether the whole loop can run as one operation.

    It can if the cell supports it and each row has its own source; if attention is a softmax and an average over a score
    that C++ implements, without dropout; and if the fed vector, if any, is Luong's attentional vector. Posterior attention
    feeds what the output layer predicts from each source position, which costs so much more than the loop that nothing would
    be gained.
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
    """Concatenate the attention of single positions."""
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
