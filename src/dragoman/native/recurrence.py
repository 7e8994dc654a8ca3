"""A recurrent loop over a whole sequence as one operation with a hand-written gradient, run by `recurrence.cpp`.

Time comes first in every tensor here. What it computes is defined by `layers/recurrent.py` and `attention/`; tests compare
outputs and gradients. Additive scores are not kept for the gradient but computed again, so memory does not grow with
target x source x hidden.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.native.compilation import loaded

SMALL = 128
"""Below this many rows or hidden units products are done in float32 even under bfloat16: casting would cost more."""


Order = Literal["before", "after"]


@dataclass(frozen=True)
class Layers:
    """Weights of the layers: for each weight_hh and bias_hh, and for each but the first weight_ih and bias_ih."""

    recurrent: tuple[tuple[Tensor, Tensor], ...]
    lower: tuple[tuple[Tensor, Tensor], ...] = ()
    keep: Tensor | None = None
    """(layer - 1, time, batch, hidden): what dropout between layers multiplies by."""


@dataclass(frozen=True)
class Source:
    """What is read in each step: prepared keys, values, where they are real, and the matrix by which what is read enters."""

    order: Order
    """Attend before the step, with the state of the step before, or after it, feeding an attention vector into the next."""
    keys: Tensor
    values: Tensor
    real: Tensor
    into: Tensor
    query: Tensor | None = None
    energy: Tensor | None = None
    """v of the additive score; without it the score is a product of query and key, times `scale`."""
    scale: float = 1.0
    combine: Tensor | None = None
    """after: W_c of the attention vector tanh(W_c [c; h])."""
    fed: Tensor | None = None
    """after: the attention vector that enters the first step."""


@dataclass(frozen=True)
class Looped:
    """States of the last layer, the state after the last step (part, layer, batch, hidden), contexts, attention vectors."""

    states: Tensor
    last: Tensor
    contexts: Tensor
    fed: Tensor


@dataclass(frozen=True)
class _Plan:
    """What is no tensor."""

    lstm: bool
    reverse: bool
    order: int
    scale: float
    low: bool
    layers: int


def loop(
    entering: Tensor,
    first: Tensor,
    layers: Layers,
    *,
    source: Source | None = None,
    alive: Tensor | None = None,
    reverse: bool = False,
) -> Looped:
    """Run a GRU (one part in `first`) or LSTM (two) over (time, batch, gates) inputs from `first` (part, layer, batch, hidden).

    `alive` (time, batch): where it is False the state stays as it was and what comes out is zero. `reverse`: from the last
    position to the first. Products are done in bfloat16 inside autocast where that is large enough to pay.
    """
    kind = torch.promote_types(entering.dtype, torch.float32)
    device = entering.device.type
    low = torch.is_autocast_enabled(device) and min(entering.shape[1], first.shape[-1]) >= SMALL
    order = 0 if source is None else 1 if source.order == "before" else 2
    plan = _Plan(len(first) == 2, reverse, order, 1.0 if source is None else source.scale, low, first.shape[1])
    read: tuple[Tensor | None, ...] = (None,) * 8
    if source is not None:
        read = (
            source.keys,
            source.values,
            source.real,
            source.into,
            source.query,
            source.energy,
            source.combine,
            source.fed,
        )
    flat = [part for pair in (*layers.recurrent, *layers.lower) for part in pair]
    given = [entering, first, None if alive is None else alive.to(kind), layers.keep, *read, *flat]
    with torch.autocast(device, enabled=False):
        ready = [t if t is None else (t if t.dtype == torch.bool else t.to(kind)).contiguous() for t in given]
        return Looped(*_Loop.apply(plan, *ready))


class _Loop(torch.autograd.Function):
    """The loop; gradients of weights are products over all positions at once."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Any) -> tuple[Tensor, ...]:
        """Run the loop and keep what its gradient needs."""
        entering, first, alive, _, *rest = tensors
        arguments = _arguments(plan, tensors)
        saved = torch.ops.dragoman_recurrence.forward(entering, first, rest[7], *arguments)
        states, cells = saved[0], saved[2]
        after, end = (states[-1, :-1], 0) if plan.reverse else (states[-1, 1:], -1)
        outputs = after * alive[..., None] if alive is not None else after.clone()
        last = torch.stack([states[:, end], cells[:, end]]) if plan.lstm else states[None, :, end].clone()
        ctx.plan, ctx.count = plan, len(tensors)
        ctx.save_for_backward(*tensors, *saved)
        return outputs, last, saved[4].clone(), saved[6][1:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Run the loop backwards, then take the products that give the gradients of weights."""
        plan: _Plan = ctx.plan
        tensors, saved = ctx.saved_tensors[: ctx.count], list(ctx.saved_tensors[ctx.count :])
        alive = tensors[2]
        by_states, by_last, by_contexts, by_fed = gradients
        by_states = (by_states if alive is None else by_states * alive[..., None]).contiguous()
        found = torch.ops.dragoman_recurrence.backward(
            saved,
            by_states,
            by_last.contiguous(),
            by_contexts.contiguous() if plan.order else None,
            by_fed.contiguous() if plan.order == 2 else None,
            *_arguments(plan, tensors),
        )
        by_source = _by_source(plan, tensors, saved, found) if plan.order else (None,) * 8
        return (None, found[0][0], found[2], None, None, *by_source, *_by_layers(plan, tensors, saved, found))


def _arguments(plan: _Plan, tensors: Any) -> tuple[Any, ...]:
    """Put what both passes need into the order that C++ wants, matrices in the precision of products."""

    def small(matrix: Tensor | None) -> Tensor | None:
        return matrix.bfloat16() if plan.low and matrix is not None else matrix

    _, _, alive, keep, keys, values, real, into, query, energy, combine, _, *flat = tensors
    layers = [small(part) if part.dim() == 2 else part for part in flat]
    read = [keys, values, real, small(into)] if plan.order else []
    shared = (plan.lstm, plan.reverse, plan.order, plan.scale, layers, alive, keep, read)
    return (*shared, small(query), energy, small(combine))


def _product(plan: _Plan, gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of a matrix: the sum over all positions of gradient x input."""
    left, right = gradient.flatten(0, -2).T, inputs.flatten(0, -2)
    return (left.bfloat16() @ right.bfloat16()).to(left.dtype) if plan.low else left @ right


def _by_layers(plan: _Plan, tensors: Any, saved: list[Tensor], found: list[Tensor]) -> list[Tensor]:
    """Return the gradients of the weights of all layers."""
    states, keep = saved[0], tensors[3]
    by_in, by_recurrent = found[:2]
    before, after = (states[:, 1:], states[:, :-1]) if plan.reverse else (states[:, :-1], states[:, 1:])
    gradients: list[Tensor] = []
    for layer in range(plan.layers):
        gradients += [_product(plan, by_recurrent[layer], before[layer]), by_recurrent[layer].sum((0, 1))]
    for layer in range(1, plan.layers):
        under = after[layer - 1] if keep is None else after[layer - 1] * keep[layer - 1]
        gradients += [_product(plan, by_in[layer], under), by_in[layer].sum((0, 1))]
    return gradients


def _by_source(plan: _Plan, tensors: Any, saved: list[Tensor], found: list[Tensor]) -> tuple[Tensor | None, ...]:
    """Return the gradients of all that a `Source` holds, in the order in which the loop takes it."""
    query, energy, combine = tensors[8:11]
    states, _, _, weights, contexts, queries, fed = saved
    by_in, _, _, by_read, by_queries, by_scores, by_keys, by_energy, by_squashed, by_fed = found
    asking = states[-1, :-1] if plan.order == 1 else states[-1, 1:]
    if energy is None:
        asked = asking if query is None else queries
        by_keys = by_scores.permute(1, 2, 0) @ asked.transpose(0, 1)
    by_values = weights.permute(1, 2, 0) @ by_read.transpose(0, 1)
    entered = contexts if plan.order == 1 else fed[:-1]
    return (
        by_keys,
        by_values,
        None,
        _product(plan, by_in[0], entered),
        None if query is None else _product(plan, by_queries, asking),
        None if energy is None else by_energy.sum(0),
        None if combine is None else _product(plan, by_squashed, torch.cat([contexts, asking], -1)),
        by_fed if plan.order == 2 else None,
    )


def formulas() -> dict[Any, Any]:
    """Return the FLOPs of both passes in terms of shapes, for torch's counter; nothing where nothing is loaded."""
    if not loaded():
        return {}
    library = torch.ops.dragoman_recurrence
    return {library.forward: _forward_cost, library.backward: _backward_cost}


def _forward_cost(entering: Any, first: Any, fed: Any, *arguments: Any, **_: Any) -> int:
    """Return the cost of the products of all steps, and of attention."""
    return _cost(prod(entering[:2]), arguments)


def _backward_cost(
    saved: Any, by_states: Any, by_last: Any, by_contexts: Any, by_fed: Any, *arguments: Any, **_: Any
) -> int:
    """Return the cost of the products of all steps, of attention and of additive scores, which are computed again."""
    steps, read, energy = prod(by_states[:2]), arguments[7], arguments[9]
    again = 0 if energy is None else 2 * steps * prod(read[0][1:])
    return _cost(steps, arguments) + again


def _cost(steps: int, arguments: Any) -> int:
    """Return the cost of `steps` rows through all matrices, and of scores, softmax and average over the source."""
    _, _, _, _, layers, _, _, read, query, _, combine = arguments
    matrices = [shape for shape in (*layers, query, combine, *read[3:]) if shape is not None and len(shape) == 2]
    total = 2 * steps * sum(prod(shape) for shape in matrices)
    if read:
        keys, values = read[:2]
        total += steps * keys[1] * (2 * keys[2] + 2 * values[2] + 5)
    return total
