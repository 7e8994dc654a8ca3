"""The inner loops of search in C++ (`decoding.cpp`): matrix products with few rows, and top-k tokens.

Requires `compilation.available`. A product with few rows takes no longer than the overhead of the oneDNN call that it
replaces; the top-k tokens are found while a row of logits is in the cache.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

PANEL = 32
"""Number of outputs per panel, as in `products.h`."""


def in_panels(weight: Shaped[Tensor, "output input"]) -> Shaped[Tensor, "panel input 32"]:
    """Pack a weight as (panel, input, 32 outputs); the last panel is padded with zeros."""
    missing = -len(weight) % PANEL
    return F.pad(weight, (0, 0, 0, missing)).unflatten(0, (-1, PANEL)).transpose(1, 2).contiguous()


def multiplier(
    panels: Shaped[Tensor, "panel input 32"], outputs: int
) -> Callable[[Float[Tensor, "*batch input"], Float[Tensor, " output"] | None], Float[Tensor, "*batch output"]]:
    """Return the product W x + b with a weight packed by `in_panels`.

    Inputs, biases and results are float32 on a CPU. With a bfloat16 weight, inputs and products (before the bias) are
    rounded to bfloat16, and half as much memory is read. Products of more than half a million multiplications use several
    threads.
    """
    multiply = torch.ops.dragoman_decoding.multiply.default
    return lambda inputs, bias: multiply(inputs, panels, bias, outputs)


def likeliest(
    logits: Float[Tensor, "rows vocab"], count: int
) -> tuple[Float[Tensor, "rows {count}"], Int[Tensor, "rows {count}"]]:
    """Return the log-probabilities and ids of the `count` most probable tokens of each row, best first.

    Float32 on a CPU. Ties are in order of id. Gives NaN where `log_softmax` does.
    """
    log_probs, ids = torch.ops.dragoman_decoding.likeliest.default(logits, count)
    return log_probs, ids
