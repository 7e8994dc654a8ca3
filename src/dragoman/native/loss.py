"""The loss of an output layer in C++ (`loss.cpp`): what lies between its matrix products, in one pass over the logits.

What it computes is defined by `layers/cross_entropy.py`; tests compare losses and gradients.
"""

from math import prod
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.native.compilation import LOSS, loaded


def losses(
    logits: Float[Tensor, "tokens vocab"],
    bias: Float[Tensor, " vocab"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    smoothing: float,
) -> tuple[Float[Tensor, " tokens"], Float[Tensor, " tokens"]]:
    """Return the label-smoothed and the plain cross-entropy of each token; requires that `LOSS` is loaded.

    `logits` are on a CPU, without the bias, in float32, float64 or bfloat16 (with the bias in float32). They are overwritten
    with the gradient of the label-smoothed loss plus smoothing / vocab, which is left out because it is the same everywhere.
    Raises RuntimeError for a label that is not in the vocabulary.
    """
    smoothed, plain = torch.ops.dragoman_loss.losses.default(logits, bias, labels, smoothing)
    return smoothed, plain


def formulas() -> dict[Any, Any]:
    """Return the FLOPs of the operation, for torch's counter: those of a softmax."""
    return {torch.ops.dragoman_loss.losses: _cost} if loaded(LOSS) else {}


def _cost(logits: Any, *_: Any, **__: Any) -> int:
    """Count per logit: find the largest, subtract it, exponentiate, add up, divide."""
    return 5 * prod(logits)
