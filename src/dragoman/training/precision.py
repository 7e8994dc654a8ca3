"""In which arithmetic matrix products are done: float32, or bfloat16 with float32 sums and weights."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch

PrecisionName = Literal["float32", "bfloat16"]
WORTHWHILE = 1.5
"""How many times faster a bfloat16 product must be on a CPU to be chosen."""


def choose(wish: Literal["auto", "float32", "bfloat16"], device: torch.device) -> PrecisionName:
    """Return the precision to train in. `auto` takes bfloat16 on a GPU that has it and on a CPU measured to be faster."""
    if wish != "auto":
        return wish
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if cpu_gain() >= WORTHWHILE else "float32"


def cpu_gain() -> float:
    """Measure how many times faster this CPU multiplies bfloat16 matrices than float32 ones, in about 0.1 s.

    CPUs with AVX512-BF16 or AMX reach 2 to 8; others emulate, at a fraction of the speed.
    """
    left, right = torch.full((512, 512), 0.5), torch.full((512, 512), 0.25)
    pairs = {"float32": (left, right), "bfloat16": (left.bfloat16(), right.bfloat16())}
    best = dict.fromkeys(pairs, float("inf"))
    for _ in range(5):
        for name, (a, b) in pairs.items():
            begin = time.perf_counter()
            for _ in range(4):
                a @ b
            best[name] = min(best[name], time.perf_counter() - begin)
    return best["float32"] / best["bfloat16"]


def arithmetic(precision: PrecisionName, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which losses are computed."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=True)
