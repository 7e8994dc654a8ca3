"""Cost of training in floating-point operations (FLOPs): counted, and estimated as in the Transformer paper."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, shape_wrapper

from dragoman.native import loss, recurrence

SUSTAINED: Mapping[str, float] = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
"""Sustained FLOPs per second that the paper assumes for each GPU (Vaswani et al. 2017, section 6.1, footnote)."""

EVERY = 100
"""One training step in this many is counted; the others are assumed to cost the same per token, padding included."""

Shape = tuple[int, ...]


@dataclass
class Count:
    """The FLOPs counted inside a `counting` block."""

    flops: int = 0


@contextmanager
def counting() -> Iterator[Count]:
    """Count the FLOPs of what runs inside, forward and backward.

    Counted: matrix products, convolutions, fused attention, fused recurrent layers, and softmax, with each multiplication
    and each addition as one. Not counted: other element-wise work (activations, norms, dropout, the gates of recurrent
    cells), embedding lookups, and the optimiser. Recomputation in the backward pass is counted again.
    """
    count = Count()
    token = _active.set(count)
    try:
        with _Counter(count):
            yield count
    finally:
        _active.reset(token)


@contextmanager
def not_counting() -> Iterator[None]:
    """Count nothing of what runs inside, such as the matrix products of Muon."""
    count = _active.get()
    before = 0 if count is None else count.flops
    yield
    if count is not None:
        count.flops = before


def is_counting() -> bool:
    """Tell whether this runs inside `counting`, which cannot see into compiled code."""
    return _active.get() is not None


_active: ContextVar[Count | None] = ContextVar("active", default=None)


class _Counter(TorchDispatchMode):
    """Adds the FLOPs of each operation to a count.

    torch's own FlopCounterMode also counts by module, and looks for a decomposition of every operation: a step of a small
    model then takes three times as long.
    """

    def __init__(self, count: Count) -> None:
        super().__init__()
        self._count = count
        self._formulas = {**flop_registry, **{name: shape_wrapper(formula) for name, formula in _formulas().items()}}

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation and count it."""
        named = named or {}
        formula = self._formulas.get(function.overloadpacket)
        if formula is None and torch.is_inference_mode_enabled():
            with self:
                result = function.decompose(*arguments, **named)
            if result is not NotImplemented:
                return result
        result = function(*arguments, **named)
        if formula is not None:
            self._count.flops += formula(*arguments, **named, out_val=result)
        return result


@dataclass
class Meter:
    """The FLOPs of a training so far: those of one step in EVERY are counted, the others estimated from them."""

    flops: float = 0.0
    counted: float = 0.0
    """FLOPs of the steps counted since `restart` ..."""
    cells: int = 0
    """... and their number of tokens, padding included."""
    steps: int = 0
    """Steps since `restart`."""

    def restart(self) -> None:
        """Forget the cost of a step, because the work changes; the total stays."""
        self.counted, self.cells, self.steps = 0.0, 0, 0

    def measure(self, cells: int, step: Callable[[], Any], *, total: Callable[[float], float] = float) -> Any:
        """Run a step over `cells` tokens, padding included, add its cost, and return its result.

        Where several processes share the step, `total` adds up what each has counted.

        The first two steps are counted, then one in EVERY: this depends only on the number of steps, so that a resumed run
        counts like an uninterrupted one.
        """
        self.steps += 1
        if self.steps > 2 and self.steps % EVERY:
            result = step()
            self.flops += self.counted / self.cells * cells
            return result
        with counting() as count:
            result = step()
        flops = total(count.flops)
        self.flops += flops
        self.counted += flops
        self.cells += cells
        return result


def estimate(seconds: float, devices: int, rate: float) -> float:
    """Return the FLOPs of a training by the rule of Vaswani et al. 2017 (section 6.1): time x devices x sustained rate.

    >>> f"{estimate(12 * 3600.0, 8, SUSTAINED['P100']):.1e}"
    '3.3e+18'
    """
    return seconds * devices * rate


def sustained_rate(device: torch.device, dtype: torch.dtype = torch.float32) -> float:
    """Measure the FLOPs per second of large matrix products on `device` with torch's current threads, in about 0.2 s.

    It is measured once in a process for the same arguments and threads. For a GPU in the paper's list, return the paper's rate.
    """
    return _sustained_rate(device, dtype, torch.get_num_threads())


@cache
def _sustained_rate(device: torch.device, dtype: torch.dtype, threads: int) -> float:
    """Measure, or look up, a rate."""
    del threads
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        known = next((rate for model, rate in SUSTAINED.items() if model in name.split()), None)
        if known is not None:
            return known
    size = 4096 if device.type == "cuda" else 768
    left, right = (torch.full((size, size), value, device=device, dtype=dtype) for value in (0.5, 0.25))
    best = float("inf")
    for _ in range(6):
        begin = time.perf_counter()
        (left @ right)[0, 0].item()
        best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best


def _formulas() -> dict[Any, Callable[..., int]]:
    """Return FLOP formulas for operations that torch's counter does not know."""
    aten = torch.ops.aten
    return {
        aten._softmax: _softmax,
        aten._log_softmax: _softmax,
        aten._softmax_backward_data: _softmax_backward,
        aten._log_softmax_backward_data: _softmax_backward,
        aten.logsumexp: _softmax,
        aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
        aten.mkldnn_rnn_layer: _one_layer,
        aten.mkldnn_rnn_layer_backward: _one_layer_backward,
        aten._cudnn_rnn: _layers,
        aten._cudnn_rnn_backward: _layers_backward,
        **recurrence.formulas(),
        **loss.formulas(),
    }


def _softmax(shape: Shape, *_: Any, **__: Any) -> int:
    """Count per number: find the largest, subtract it, exponentiate, add up, divide."""
    return 5 * prod(shape)


def _softmax_backward(shape: Shape, *_: Any, **__: Any) -> int:
    """Count per number: multiply, add up, subtract, multiply."""
    return 4 * prod(shape)


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    """Return the cost of both products and of the softmax between them."""
    batch, heads, queries, width = query
    scores = batch * heads * queries * key[2]
    return 2 * scores * (width + value[3]) + 5 * scores


def _attention_backward(gradient: Shape, query: Shape, key: Shape, value: Shape, *_: Any, **__: Any) -> int:
    """Return the cost of five products: the recomputed scores, and the gradients of scores, values, queries and keys."""
    batch, heads, queries, width = query
    scores = batch * heads * queries * key[2]
    return 2 * scores * (3 * width + 2 * value[3]) + 9 * scores


def _one_layer(inputs: Shape, weight: Shape, recurrent: Shape, *_: Any, **__: Any) -> int:
    """Return the cost of one direction of one recurrent layer over (time, batch, features)."""
    return 2 * prod(inputs[:-1]) * (prod(weight) + prod(recurrent))


def _one_layer_backward(inputs: Shape, weight: Shape, recurrent: Shape, *_: Any, **__: Any) -> int:
    """Return twice the cost of the forward pass: the gradients of inputs and of weights."""
    return 2 * _one_layer(inputs, weight, recurrent)


def _layers(inputs: Shape, weights: list[Shape], *_: Any, **__: Any) -> int:
    """Return the cost of all recurrent layers together."""
    return 2 * prod(inputs[:-1]) * sum(prod(weight) for weight in weights if len(weight) > 1)


def _layers_backward(inputs: Shape, weights: list[Shape], *_: Any, **__: Any) -> int:
    """Return twice the cost of the forward pass."""
    return 2 * _layers(inputs, weights)
