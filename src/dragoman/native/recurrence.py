"""A recurrent loop over a whole sequence as one operation with a hand-written gradient (`recurrence.cpp`).

Time comes first in every tensor here. What it computes is defined by `layers/attentive.py`, `layers/recurrent.py` and
`attention/`; tests compare outputs and gradients. Additive scores are not saved for the gradient but recomputed, so memory
does not grow with target x source x hidden.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.native.compilation import RECURRENCE, loaded

SMALL = 128
"""With fewer rows or hidden units, products are computed in float32 even under bfloat16, since casting would cost more."""

STATE, MASKS, SOURCE = slice(1, 3), slice(3, 6), slice(6, 13)
"""Slices of the tensors of `_FusedRnn`: the inputs come before them, the weights after."""


class CellWeights(NamedTuple):
    """The weights of one layer in one direction, under torch's names and in the order in which `recurrence.cpp` takes them."""

    weight_ih: Tensor
    bias_ih: Tensor
    weight_hh: Tensor
    bias_hh: Tensor


@dataclass(frozen=True)
class LayerWeights:
    """Each layer's weights; the first weight_ih also multiplies the context."""

    weights: tuple[CellWeights, ...]
    keep: Tensor | None = None
    """(layer - 1, time, batch, hidden): dropout factors between layers."""
    projection: Tensor | None = None
    """(width, hidden): projection of a single LSTM layer's output, which is also its recurrent input."""


@dataclass(frozen=True)
class AttentionInputs:
    """The source of attention: prepared keys, values, where they are real, and the parts of the score.

    Attention comes before the step, with the previous state, and the context is an input of the step; with `combine` and
    `fed` it comes after the step, and the attentional vector tanh(W_c [c; h]) is an input of the next one.
    """

    keys: Tensor
    values: Tensor
    real: Tensor
    query: Tensor | None = None
    """Projects states to queries; without it, states are the queries."""
    energy: Tensor | None = None
    """v of the additive score; without it, the score is the product of query and key times `scale`."""
    squashed: bool = False
    """Whether tanh is applied to the projected queries."""
    scale: float = 1.0
    combine: Tensor | None = None
    """W_c."""
    fed: Tensor | None = None
    """The attentional vector fed into the first step."""
    keep: Tensor | None = None
    """(time, batch, values): dropout factors of the contexts as inputs."""


@dataclass(frozen=True)
class FusedRnnOutput:
    """Result of a fused loop, time first; unused tensors are empty."""

    states: Tensor
    """States of the last layer: (time, batch, width)."""
    last: tuple[Tensor, ...]
    """Parts of the state after the last step: (layer, batch, size)."""
    contexts: Tensor
    """(time, batch, values)."""
    weights: Tensor
    """Attention weights: (time, batch, source)."""
    fed: Tensor
    """Attentional vectors fed into the next step: (time, batch, dim)."""

    def batch_first(self) -> "FusedRnnOutput":
        """Return the same result with the batch as the first axis everywhere."""
        sequences = (self.states, self.contexts, self.weights, self.fed)
        states, contexts, weights, fed = (t.transpose(0, 1) if t.dim() == 3 else t for t in sequences)
        return FusedRnnOutput(states, tuple(part.transpose(0, 1) for part in self.last), contexts, weights, fed)


@dataclass(frozen=True)
class _Options:
    """Arguments of both passes other than tensors."""

    reverse: bool
    low: bool
    squashed: bool
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
    """Run GRUs (one part in `first`) or LSTMs (two) over (time, batch, features) from `first`, parts (layer, batch, size).

    `alive` (time, batch): where False, the state is unchanged and the output is zero. `reverse`: from the last position to
    the first. Under autocast, matrix products that are large enough are computed in bfloat16. The result shares memory with
    tensors saved for the gradient, so it must not be modified.
    """
    kind = torch.promote_types(inputs.dtype, torch.float32)
    device = inputs.device.type
    low = torch.is_autocast_enabled(device) and min(inputs.shape[1], first[0].shape[-1]) >= SMALL
    options = _Options(reverse, low, source is not None and source.squashed, 1.0 if source is None else source.scale)
    masks = [None if alive is None else alive.to(kind), layers.keep, None if source is None else source.keep]
    attended: list[Tensor | None] = [None] * 7
    if source is not None:
        attended = [source.keys, source.values, source.real, source.query, source.energy, source.combine, source.fed]
    weights = [weight for layer in layers.weights for weight in layer]
    weights += [] if layers.projection is None else [layers.projection]
    given = [inputs, first[0], first[1] if len(first) > 1 else None, *masks, *attended, *weights]
    with torch.autocast(device, enabled=False):
        ready = [t if t is None else (t if t.dtype == torch.bool else t.to(kind)).contiguous() for t in given]
        states, hidden, memory, *read = _FusedRnn.apply(options, *ready)
    return FusedRnnOutput(states, (hidden, memory)[: len(first)], *read)


class _FusedRnn(torch.autograd.Function):
    """The loop; gradients of weights are products over all positions at once."""

    @staticmethod
    def forward(ctx: Any, options: _Options, *tensors: Any) -> tuple[Tensor, ...]:
        """Run the loop and save what its gradient needs."""
        first = [part for part in tensors[STATE] if part is not None]
        states, hidden, memory, *saved = torch.ops.dragoman_native.forward(
            tensors[0], first, *_arguments(options, tensors)
        )
        ctx.options, ctx.count = options, len(tensors)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *saved)
        contexts, weights, fed = saved[3:6]
        return states, hidden, memory, contexts, weights, fed[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the loop backwards; a gradient of None means zero."""
        kept = ctx.saved_tensors
        tensors, saved = kept[: ctx.count], kept[ctx.count :]
        grad = torch.ops.dragoman_native.backward(tensors[0], saved, gradients, *_arguments(ctx.options, tensors))
        grad_inputs, grad_hidden, grad_memory, *others = grad
        count = ctx.count - SOURCE.stop
        grad_weights, rest = others[:count], iter(others[count:])
        grad_source = [None if t is None or t.dtype == torch.bool else next(rest) for t in tensors[SOURCE]]
        grad_state = (grad_hidden, None if tensors[STATE][1] is None else grad_memory)
        return (None, grad_inputs, *grad_state, *[None] * 3, *grad_source, *grad_weights)


def _arguments(options: _Options, tensors: Any) -> tuple[Any, ...]:
    """Return the arguments of both passes in the order that C++ expects."""
    weights, masks, source = tensors[SOURCE.stop :], tensors[MASKS], tensors[SOURCE]
    return weights, masks, source, options.reverse, options.low, options.squashed, options.scale


def formulas() -> dict[Any, Any]:
    """Return FLOP formulas of both passes for torch's counter; empty if the extension is not loaded."""
    if not loaded(RECURRENCE):
        return {}
    library = torch.ops.dragoman_native
    return {library.forward: _forward_cost, library.backward: _backward_cost}


def _forward_cost(inputs: Any, first: Any, *arguments: Any, **_: Any) -> int:
    """Return the cost of all products, and of attention."""
    return _cost(prod(inputs[:2]), arguments)


def _backward_cost(inputs: Any, saved: Any, gradients: Any, *arguments: Any, **_: Any) -> int:
    """Return twice the cost, for gradients of inputs and of weights, plus that of recomputing additive scores."""
    steps, (keys, *_others, energy, _combine, _fed) = prod(inputs[:2]), arguments[2]
    again = 0 if energy is None else 2 * steps * prod(keys[1:])
    return 2 * _cost(steps, arguments) + again


def _cost(steps: int, arguments: Any) -> int:
    """Return the cost of `steps` rows: all matrix products, and scores, softmax and average over the source."""
    weights, _masks, (keys, values, _real, query, _energy, combine, _fed), *_ = arguments
    matrices = [shape for shape in (*weights, query, combine) if shape is not None and len(shape) == 2]
    total = 2 * steps * sum(prod(shape) for shape in matrices)
    return total if keys is None else total + steps * keys[1] * (2 * keys[2] + 2 * values[2] + 5)
