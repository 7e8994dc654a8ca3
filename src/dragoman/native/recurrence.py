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

from dragoman.native.compilation import RECURRENCE, loaded

SMALL = 128
"""Below this many rows or hidden units products are done in float32 even under bfloat16: casting would cost more."""


Order = Literal["before", "after"]


@dataclass(frozen=True)
class LayerWeights:
    """Each layer's weight_ih, bias_ih, weight_hh and bias_hh; the first weight_ih takes what is attended to as well."""

    weights: tuple[tuple[Tensor, Tensor, Tensor, Tensor], ...]
    keep: Tensor | None = None
    """(layer - 1, time, batch, hidden): what dropout between layers multiplies by."""


@dataclass(frozen=True)
class AttentionInputs:
    """What is attended to at each step: prepared keys, values, and where they are real."""

    order: Order
    """Attend before the step, with the state of the step before, or after it, feeding an attention vector into the next."""
    keys: Tensor
    values: Tensor
    real: Tensor
    query: Tensor | None = None
    energy: Tensor | None = None
    """v of the additive score; without it the score is a product of query and key, times `scale`."""
    scale: float = 1.0
    combine: Tensor | None = None
    """after: W_c of the attention vector tanh(W_c [c; h])."""
    fed: Tensor | None = None
    """after: the attention vector that enters the first step."""


@dataclass(frozen=True)
class FusedRnnOutput:
    """What a fused loop gives, time first."""

    states: Tensor
    """Of the last layer: (time, batch, hidden)."""
    last: tuple[Tensor, ...]
    """The parts of the state after the last step: (layer, batch, hidden)."""
    contexts: Tensor
    """(time, batch, values); empty without attention."""
    fed: Tensor
    """The attention vectors that are fed into the next step: (time, batch, dim); empty where none are."""

    def batch_first(self) -> "FusedRnnOutput":
        """Return the same with the batch as the first axis everywhere."""
        sequences = (t.transpose(0, 1) if t.dim() == 3 else t for t in (self.states, self.contexts, self.fed))
        states, contexts, fed = sequences
        return FusedRnnOutput(states, tuple(part.transpose(0, 1) for part in self.last), contexts, fed)


@dataclass(frozen=True)
class _Plan:
    """What is no tensor."""

    lstm: bool
    reverse: bool
    low: bool
    order: int
    scale: float


def run_fused(
    inputs: Tensor,
    first: tuple[Tensor, ...],
    layers: LayerWeights,
    *,
    source: AttentionInputs | None = None,
    alive: Tensor | None = None,
    reverse: bool = False,
) -> FusedRnnOutput:
    """Run GRUs (one part in `first`) or LSTMs (two) over (time, batch, features) from `first`, parts (layer, batch, hidden).

    `alive` (time, batch): where it is False the state stays as it was and what comes out is zero. `reverse`: from the last
    position to the first. Matrix products are done in bfloat16 inside autocast where that is large enough to pay. What comes out
    shares memory with what is kept for the gradient, so nobody may write into it.
    """
    kind = torch.promote_types(inputs.dtype, torch.float32)
    device = inputs.device.type
    low = torch.is_autocast_enabled(device) and min(inputs.shape[1], first[0].shape[-1]) >= SMALL
    order = 0 if source is None else 1 if source.order == "before" else 2
    plan = _Plan(len(first) == 2, reverse, low, order, 1.0 if source is None else source.scale)
    attended: tuple[Tensor | None, ...] = (None,) * 7
    if source is not None:
        attended = (source.keys, source.values, source.real, source.query, source.energy, source.combine, source.fed)
    flat = [weight for layer in layers.weights for weight in layer]
    given = [inputs, torch.stack(first), None if alive is None else alive.to(kind), layers.keep, *attended, *flat]
    with torch.autocast(device, enabled=False):
        ready = [t if t is None else (t if t.dtype == torch.bool else t.to(kind)).contiguous() for t in given]
        states, last, contexts, fed = _FusedRnn.apply(plan, *ready)
        return FusedRnnOutput(states, last.unbind(), contexts, fed)


class _FusedRnn(torch.autograd.Function):
    """The loop; gradients of weights are products over all positions at once."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Any) -> tuple[Tensor, ...]:
        """Run the loop and keep what its gradient needs."""
        outputs, last, *saved = torch.ops.dragoman_native.forward(
            tensors[0], tensors[1], tensors[10], *_arguments(plan, tensors)
        )
        ctx.plan, ctx.count = plan, len(tensors)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *saved)
        return outputs, last, saved[4], saved[6][1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the loop backwards; a gradient that is None is zero."""
        plan: _Plan = ctx.plan
        kept = ctx.saved_tensors
        tensors, saved = kept[: ctx.count], kept[ctx.count :]
        found = torch.ops.dragoman_native.backward(tensors[0], saved, *gradients, *_arguments(plan, tensors))
        layers = 2 + ctx.count - 11
        by_inputs, by_first, by_layers, by_source = found[0], found[1], found[2:layers], iter(found[layers:])
        read = tensors[4:11]
        by_read = [None if t is None or t.dtype == torch.bool else next(by_source) for t in read]
        return (None, by_inputs, by_first, None, None, *by_read, *by_layers)


def _arguments(plan: _Plan, tensors: Any) -> tuple[Any, ...]:
    """Put what both passes need into the order that C++ wants."""
    _, _, alive, keep, keys, values, real, query, energy, combine, _, *layers = tensors
    read = [keys, values, real] if plan.order else []
    numbers = (plan.lstm, plan.reverse, plan.low, plan.order, plan.scale)
    return (*numbers, layers, alive, keep, read, query, energy, combine)


def formulas() -> dict[Any, Any]:
    """Return the FLOPs of both passes in terms of shapes, for torch's counter; nothing where nothing is loaded."""
    if not loaded(RECURRENCE):
        return {}
    library = torch.ops.dragoman_native
    return {library.forward: _forward_cost, library.backward: _backward_cost, library.cross_entropy: _loss_cost}


def _forward_cost(inputs: Any, first: Any, fed: Any, *arguments: Any, **_: Any) -> int:
    """Return the cost of all products, and of attention."""
    return _cost(prod(inputs[:2]), arguments)


def _backward_cost(
    inputs: Any, saved: Any, by_outputs: Any, by_last: Any, by_contexts: Any, by_feds: Any, *arguments: Any, **_: Any
) -> int:
    """Return twice the cost, for gradients of inputs and of weights, and that of additive scores, computed again."""
    steps, read, energy = prod(inputs[:2]), arguments[8], arguments[10]
    again = 0 if energy is None else 2 * steps * prod(read[0][1:])
    return 2 * _cost(steps, arguments) + again


def _cost(steps: int, arguments: Any) -> int:
    """Return the cost of `steps` rows through all matrices, and of scores, softmax and average over the source."""
    *_, layers, _, _, read, query, _, combine = arguments
    matrices = [shape for shape in (*layers, query, combine) if shape is not None and len(shape) == 2]
    total = 2 * steps * sum(prod(shape) for shape in matrices)
    if read:
        keys, values = read[:2]
        total += steps * keys[1] * (2 * keys[2] + 2 * values[2] + 5)
    return total


def _loss_cost(features: Any, weight: Any, bias: Any, labels: Any, *arguments: Any, **_: Any) -> int:
    """Return the cost of one product, of three where gradients are asked for, and of the softmax."""
    return features[0] * weight[0] * (2 * weight[1] * (3 if arguments[3] else 1) + 5)
