"""Linear layers at inference, with weights packed for the CPU or stored in fewer bits."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import cache
from types import MethodType
from typing import Any, NoReturn

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.errors import InputError
from dragoman.machine.precision import InferencePrecisionName, LayOut, Multiply
from dragoman.native.compilation import DECODING, available
from dragoman.native.decoding import in_panels, multiplier

SMALL = 1 << 12
"""Weights with fewer numbers are not worth packing."""
FEW = {torch.float32: 64, torch.bfloat16: 8}
"""Up to this many rows, the C++ kernel is faster than oneDNN."""


def linear(
    inputs: Float[Tensor, "*batch input"], weight: Float[Tensor, "output input"], bias: Float[Tensor, " output"] | None
) -> Float[Tensor, "*batch output"]:
    """Compute W x + b with the active `PackedWeights`, if any."""
    products = None if torch.compiler.is_compiling() else _in_use.get()
    return F.linear(inputs, weight, bias) if products is None else products(inputs, weight, bias)


def packed_linear(weight: Float[Tensor, "output input"]) -> Multiply:
    """Return the product with a weight that will be used many times, packed as the active `PackedWeights` do."""
    products = _in_use.get()
    return MULTIPLIERS[products.precision](weight) if products else _torchs_own(weight)


class PackedWeights:
    """Matrix products with the weights of some models, which must no longer change.

    Each weight is packed on first use: torch itself packs it again at every call, which is most of the work for few rows. In
    float32, results equal torch's up to rounding; bfloat16 rounds inputs, weights and results; int8 quantises each row of
    the inputs and of the weight to 255 levels with its own scale, so a row's result does not depend on the others. On
    devices other than a CPU, torch's own products are used, in float32 or bfloat16.
    """

    def __init__(self, precision: InferencePrecisionName, *models: nn.Module) -> None:
        """Take over the models' weights; parametrised weights are computed once and replaced by their values."""
        self.precision = precision
        self._known: dict[tuple[int, torch.Size, tuple[int, ...]], Multiply] = {}
        for model in models:
            for module in model.modules():
                if parametrize.is_parametrized(module, "weight"):
                    weight = torch.as_tensor(module.weight).detach().clone()
                    parametrize.remove_parametrizations(module, "weight")
                    module.weight = nn.Parameter(weight, requires_grad=False)
        self._models = models
        self._storages = {
            parameter.untyped_storage().data_ptr() for model in models for parameter in model.parameters()
        }
        for layer in (module for model in models for module in model.modules() if type(module) is nn.Linear):
            layer.forward = MethodType(forward, layer)  # type: ignore[method-assign]

    def __deepcopy__(self, memo: dict[int, Any]) -> "PackedWeights":
        """Pack the weights of copies of the models."""
        return PackedWeights(self.precision, *(deepcopy(model, memo) for model in self._models))

    def __reduce__(self) -> NoReturn:
        """Raise InputError: this is what a translator holds that is to be pickled for another process."""
        raise InputError(
            "a loaded run cannot be pickled; load it in each process by its path, as with `dragoman.Translator.load(RUN)`"
        )

    @contextmanager
    def used(self) -> Iterator[None]:
        """Make `linear` use these weights in this thread."""
        token = _in_use.set(self)
        try:
            yield
        finally:
            _in_use.reset(token)

    def __call__(self, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Compute W x + b, with torch itself if that is as fast or the weight belongs to none of the models."""
        if weight.numel() < SMALL:
            return F.linear(inputs, weight, bias)
        key = (weight.data_ptr(), weight.shape, weight.stride())
        multiply = self._known.get(key)
        if multiply is None:
            if weight.untyped_storage().data_ptr() not in self._storages:
                return F.linear(inputs, weight, bias)
            multiply = self._known[key] = MULTIPLIERS[self.precision](weight)
        return multiply(inputs, bias)


_in_use: ContextVar[PackedWeights | None] = ContextVar("products", default=None)


def forward(layer: nn.Linear, inputs: Tensor) -> Tensor:
    """Compute a layer by `linear`: as a method of the layer, so that a copy of the layer computes with its own weights."""
    return linear(inputs, layer.weight, layer.bias)


def _torchs_own(weight: Tensor) -> Multiply:
    """Return torch's product with a weight."""
    return lambda inputs, bias: F.linear(inputs, weight, bias)


def _in_float32(weight: Tensor) -> Multiply:
    """Pack a weight."""
    return _by_rows(weight, torch.float32, _laid_out(weight, torch.float32))


def _in_bfloat16(weight: Tensor) -> Multiply:
    """Round a weight and pack it."""
    times = _laid_out(weight, torch.bfloat16)

    def many(inputs: Tensor, bias: Tensor | None) -> Tensor:
        return _with_bias(times(inputs.bfloat16(), None).float(), bias)

    return _by_rows(weight, torch.bfloat16, many)


def _laid_out(weight: Tensor, kind: torch.dtype) -> Multiply:
    """Return the product of inputs and a weight of one dtype, which oneDNN packs on a CPU."""
    if not _packs(weight, kind):
        rounded = cache(lambda: weight.detach().to(kind))
        return lambda inputs, bias: F.linear(inputs, rounded(), bias)
    packed = cache(lambda: torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(kind).contiguous(), 5))
    product = torch.ops.mkldnn._linear_pointwise.default
    return lambda inputs, bias: product(inputs, packed(), bias, "none", [], "")


def _by_rows(weight: Tensor, kind: torch.dtype, many: Multiply) -> Multiply:
    """Return `many`, with the C++ kernel for few rows where available; the weight is packed for each on first use."""
    if weight.device.type != "cpu" or not available(DECODING):
        return many
    few = cache(lambda: multiplier(in_panels(weight.detach().to(kind)), len(weight)))
    most = FEW[kind] * weight.shape[1]
    return lambda inputs, bias: few()(inputs.float(), bias) if inputs.numel() <= most else many(inputs, bias)


def _in_int8(weight: Tensor) -> Multiply:
    """Quantise each row of a weight to 255 levels; InputError if this torch cannot multiply such weights."""
    steps = weight.detach().float().abs().amax(1).clamp_min(1e-12) / 127
    rounded = (weight.detach() / steps[:, None]).round().to(torch.int8).contiguous()
    zeros = torch.zeros(len(steps), dtype=torch.int32)
    if weight.device.type != "cpu" or not _has_int8():
        raise InputError(
            "int8 products are unavailable or inexact with this processor and torch; set `decoding.precision: float32`"
        )
    packed = torch.ops.onednn.qlinear_prepack(rounded, None)
    product = torch.ops.onednn.qlinear_pointwise.default

    def multiply(inputs: Tensor, bias: Tensor | None) -> Tensor:
        rows = inputs.flatten(0, -2)
        largest = rows.abs().amax(-1, keepdim=True).clamp_min_(1e-12)
        scaled = (rows * (127 / largest)).round_().add_(128).to(torch.uint8)
        result = product(scaled, 1 / 127, 128, packed, steps, zeros, None, 1.0, 0, torch.float32, "none", [], "")
        return _with_bias(result.mul_(largest), bias).unflatten(0, inputs.shape[:-1])

    return multiply


MULTIPLIERS: Mapping[InferencePrecisionName, LayOut] = {
    "float32": _in_float32,
    "bfloat16": _in_bfloat16,
    "int8": _in_int8,
}
"""The ways to multiply by weights that no longer change."""


def _with_bias(result: Tensor, bias: Tensor | None) -> Tensor:
    """Add the bias, if any, to a new result in place."""
    return result if bias is None else result.add_(bias)


def _packs(weight: Tensor, kind: torch.dtype) -> bool:
    """Tell whether this torch can lay weights of a type out on this processor, and whether that is where they are."""
    return weight.device.type == "cpu" and torch.backends.mkldnn.is_available() and _has_packing(kind)


@cache
def _has_packing(kind: torch.dtype) -> bool:
    """Try a small product: processors without AVX-512 lay out no weights in bfloat16."""
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(torch.ones(16, 16, dtype=kind), 5)
        product = torch.ops.mkldnn._linear_pointwise(torch.ones(2, 16, dtype=kind), packed, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool((product == 16).all())


@cache
def _has_int8() -> bool:
    """Try a product with the largest possible sums: processors without VNNI saturate them at 16 bits."""
    try:
        packed = torch.ops.onednn.qlinear_prepack(torch.full((16, 64), 127, dtype=torch.int8), None)
        product, steps, zeros = torch.ops.onednn.qlinear_pointwise, torch.ones(16), torch.zeros(16, dtype=torch.int32)
        rows = torch.full((2, 64), 255, dtype=torch.uint8)
        sums = product(rows, 1.0, 128, packed, steps, zeros, None, 1.0, 0, torch.float32, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool((sums == 64 * 127 * 127).all())
