"""Sparse alternatives to softmax: most keys get weight exactly 0. Called by `attend.py`.

Both are w = max(0, a - tau) raised to a power, with the unique tau that makes the weights sum to 1, found exactly by
sorting. They work in float32 or wider. Scores far below the largest get no weight, so they are clamped; nothing overflows.
NaN scores give NaN weights, as with softmax.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.machine.dtypes import upcast

Mask = Bool[Tensor, "*#batch #query key"]

FAR_BELOW = -2.0
"""Where scores are clamped. The largest is 0 and tau is at least -1, so scores below -1 get no weight."""


def sparsemax(scores: Float[Tensor, "*batch query key"], mask: Mask | None = None) -> Float[Tensor, "*batch query key"]:
    """Project scores onto the simplex: w = max(0, a - tau) (Martins & Astudillo 2016, equation 1 and algorithm 1).

    Masked keys get exactly 0; a query that may see nothing gets zeros, and so does its gradient.

    >>> sparsemax(torch.tensor([[1.0, 0.5, -1.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    return _Sparsemax.apply(scores, mask)


def entmax15(scores: Float[Tensor, "*batch query key"], mask: Mask | None = None) -> Float[Tensor, "*batch query key"]:
    """Return 1.5-entmax: w = max(0, a / 2 - tau)^2 (Peters, Niculae & Martins 2019, equation 13 and algorithm 2).

    Masked keys get exactly 0; a query that may see nothing gets zeros, and so does its gradient.

    >>> entmax15(torch.tensor([[2.0, 0.0, -1.0]])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    return _Entmax15.apply(scores, mask)


class _Sparsemax(torch.autograd.Function):
    """Sparsemax and its Jacobian, diag(s) - s s^T / |s| with s the support (Martins & Astudillo 2016, section 2.5)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Find tau with algorithm 1."""
        reduced = _below_the_best(scores, mask)
        sorted_scores, counts = _sorted(reduced)
        sums = sorted_scores.cumsum(-1)
        support = (1 + counts * sorted_scores > sums).sum(-1, keepdim=True).clamp_min(1)
        threshold = (sums.gather(-1, support - 1) - 1) / support
        weights = _hide((reduced - threshold).clamp_min(0), mask)
        ctx.save_for_backward(weights)
        return weights.to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_weights: Tensor) -> tuple[Tensor, None]:
        """Subtract from the gradient its mean over the support."""
        (weights,) = ctx.saved_tensors
        return _pulled_back((weights > 0).to(weights.dtype), by_weights), None


class _Entmax15(torch.autograd.Function):
    """1.5-entmax and its Jacobian, diag(s) - s s^T / sum(s) with s = sqrt(w) (Peters et al. 2019, proposition 1)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Find tau with algorithm 2, from the mean and the sum of squares of the k largest scores."""
        reduced = _below_the_best(scores, mask, 0.5)
        sorted_scores, counts = _sorted(reduced)
        mean = sorted_scores.cumsum(-1) / counts
        spread = sorted_scores.square().cumsum(-1) - counts * mean.square()
        thresholds = mean - ((1 - spread) / counts).clamp_min(0).sqrt()
        support = (thresholds <= sorted_scores).sum(-1, keepdim=True).clamp_min(1)
        weights = _hide((reduced - thresholds.gather(-1, support - 1)).clamp_min(0).square(), mask)
        ctx.save_for_backward(weights)
        return weights.to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_weights: Tensor) -> tuple[Tensor, None]:
        """Subtract from the gradient its mean weighted by sqrt(w), and multiply by sqrt(w)."""
        (weights,) = ctx.saved_tensors
        return _pulled_back(weights.sqrt(), by_weights), None


def _pulled_back(slopes: Tensor, by_weights: Tensor) -> Tensor:
    """Multiply a gradient by diag(s) - s s^T / sum(s), where s is `slopes`; a row of zeros stays zero."""
    inside = by_weights * slopes
    mean = inside.sum(-1, keepdim=True) / slopes.sum(-1, keepdim=True).clamp_min(1)
    return (inside - mean * slopes).to(by_weights.dtype)


def _below_the_best(scores: Tensor, mask: Tensor | None, factor: float = 1.0) -> Tensor:
    """Subtract the largest visible score, multiply by `factor`, and clamp what is far below."""
    wide = upcast(scores)
    visible = wide if mask is None else wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    return ((visible - visible.amax(-1, keepdim=True)) * factor).clamp_min(FAR_BELOW)


def _sorted(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores in descending order, and the numbers 1, 2, ..."""
    return scores.sort(-1, descending=True).values, torch.arange(1, scores.shape[-1] + 1, device=scores.device)


def _hide(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Set masked weights to 0."""
    return weights if mask is None else weights.masked_fill(~mask, 0)
