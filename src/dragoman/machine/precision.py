"""Precision of matrix products: float32, or bfloat16 with float32 accumulation and weights."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.errors import InputError

PrecisionName = Literal["float32", "bfloat16"]
"""Precisions in which a model can be trained."""
InferencePrecisionName = Literal["float32", "bfloat16", "int8"]
"""Precisions in which a trained model can be used."""
Multiply = Callable[[Tensor, Tensor | None], Tensor]
"""Multiplies inputs by a weight that is known, and adds a bias."""
LayOut = Callable[[Tensor], Multiply]
"""Makes the product with a weight; InputError where this machine cannot."""

WORTHWHILE = 1.2
"""Speed-up that matrix products in fewer bits must bring on a CPU to be chosen."""
HIDDEN = 20
"""Square products in a step of translation, for each one of the output layer."""


def choose_training_precision(
    requested: Literal["auto", "float32", "bfloat16"], device: torch.device, width: int = 512
) -> PrecisionName:
    """Return the precision to train in. `auto` is bfloat16 on a GPU that supports it and on a CPU measured to be faster.

    `width` is that of the model (`width_of`): narrow products gain less than it costs to round their inputs.
    """
    if requested != "auto":
        return requested
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if cpu_gain(min(width, 512)) >= WORTHWHILE else "float32"


def cpu_gain(width: int = 512) -> float:
    """Measure how many times faster this CPU multiplies in bfloat16 than in float32, in about 0.1 s.

    512 rows are rounded and multiplied by a square matrix of this width, as in a training step. CPUs with AVX512-BF16 or AMX
    reach 2 to 8 for wide matrices; others emulate bfloat16, at a fraction of the speed.
    """
    rows, matrix = torch.full((512, width), 0.5), torch.full((width, width), 0.25)
    rounded = matrix.bfloat16()
    ways = {"float32": lambda: rows @ matrix, "bfloat16": lambda: rows.bfloat16() @ rounded}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(5):
        for name, product in ways.items():
            begin = time.perf_counter()
            for _ in range(4):
                product()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best["float32"] / best["bfloat16"]


def choose_inference_precision(
    requested: Literal["auto", "float32", "bfloat16", "int8"],
    device: torch.device,
    *,
    width: int,
    multipliers: Mapping[InferencePrecisionName, LayOut],
) -> InferencePrecisionName:
    """Return the precision to translate in. `auto` takes the one of `multipliers` that is measured to be quickest on this CPU.

    `width` is that of the models (`width_of`), as in `choose_training_precision`.
    """
    if requested != "auto":
        return requested
    return "float32" if device.type != "cpu" else quickest(tuple(multipliers.items()), min(width, 1024))


def width_of(model: nn.Module) -> int:
    """Return the width of a model's widest product: the largest shorter side of its matrices."""
    return max((min(p.shape) for p in model.parameters() if p.dim() == 2), default=1)


@cache
def quickest(multipliers: tuple[tuple[InferencePrecisionName, LayOut], ...], width: int) -> InferencePrecisionName:
    """Measure, in about 0.2 s, products of few and of many rows: several with a square matrix, one with an output layer's."""
    weights = {1: torch.full((4096, width), 0.5), HIDDEN: torch.full((width, width), 0.5)}
    seconds = {precision: float("inf") for precision, _ in multipliers}
    for precision, lay_out in multipliers:
        try:
            multiply = {count: lay_out(weight) for count, weight in weights.items()}
        except InputError:
            continue
        seconds[precision] = sum(
            count * _seconds(one, torch.full((rows, width), 0.25)) / rows**0.5
            for count, one in multiply.items()
            for rows in (5, 320)
        )
    best = min(seconds, key=seconds.__getitem__)
    return best if seconds["float32"] >= WORTHWHILE * seconds[best] else "float32"


def _seconds(multiply: Multiply, inputs: Tensor) -> float:
    """Return the least time that a product takes."""
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        multiply(inputs, None)
        times.append(time.perf_counter() - begin)
    return min(times)


def dtype_of(precision: PrecisionName) -> torch.dtype:
    """Return the torch dtype of a precision.

    >>> dtype_of("bfloat16")
    torch.bfloat16
    """
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def arithmetic(precision: PrecisionName, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which losses are computed."""
    if precision == "float32":
        return nullcontext()
    return _Rounding(device.type, torch.bfloat16, cache_enabled=True)


class _Rounding(torch.autocast):
    """Autocast that forgets the rounded weights at its end, because they change; within another one torch would keep them."""

    def __exit__(self, *error: Any) -> Any:
        torch.clear_autocast_cache()
        return super().__exit__(*error)
