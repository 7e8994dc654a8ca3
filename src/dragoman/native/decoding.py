"""What search does at each position, run by `decoding.cpp`: products of few rows, and the likeliest tokens.

`compilation.available` must have said that it is there. A product of few rows is no more work than a call of oneDNN, which is
what it takes the place of; the likeliest tokens are found while a row of logits is in the cache.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

PANEL = 32
"""Outputs that stand side by side, as in `products.h`."""


def in_panels(weight: Shaped[Tensor, "output input"]) -> Shaped[Tensor, "panel input 32"]:
    """Lay a weight out as (panel, input, 32 outputs); outputs that are missing in the last panel are zeros."""
    missing = -len(weight) % PANEL
    return F.pad(weight, (0, 0, 0, missing)).unflatten(0, (-1, PANEL)).transpose(1, 2).contiguous()


def multiplier(
    panels: Shaped[Tensor, "panel input 32"], outputs: int
) -> Callable[[Float[Tensor, "*batch input"], Float[Tensor, " output"] | None], Float[Tensor, "*batch output"]]:
    """Return the product W x + b with a weight that `in_panels` laid out.

    Inputs, biases and results are float32 on a CPU. A weight in bfloat16 makes inputs and products (before the bias) round to
    that, and halves what is read of memory. Threads share products of more than half a million multiplications.
    """
    multiply = torch.ops.dragoman_decoding.multiply.default
    return lambda inputs, bias: multiply(inputs, panels, bias, outputs)


def likeliest(
    logits: Float[Tensor, "rows vocab"], count: int
) -> tuple[Float[Tensor, "rows {count}"], Int[Tensor, "rows {count}"]]:
    """Return the log-probabilities of the `count` likeliest tokens of each row, best first, and which they are.

    Float32 on a CPU. Of equal ones, the first come first. Where `log_softmax` would give nothing that is a number, neither does
    this.
    """
    log_probs, ids = torch.ops.dragoman_decoding.likeliest.default(logits, count)
    return log_probs, ids
