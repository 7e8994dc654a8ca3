"""Cross-entropy of a linear layer, in pieces: the tensor of tokens x vocabulary never exists whole."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

PIECE = 1024
"""Tokens whose logits exist at one time."""


def linear_cross_entropy(
    features: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocab width"],
    bias: Float[Tensor, " vocab"] | None,
    labels: Int[Tensor, " tokens"],
    *,
    smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Sum over tokens the cross-entropy of softmax(W x + b), label-smoothed and plain; the plain sum has no gradient.

    Label smoothing gives the label 1 - e + e/V and every other piece e/V (Szegedy et al. 2016, section 7), as torch's
    cross_entropy does. Gradients are computed in the forward pass, piece by piece.
    """
    total, plain = _LinearCrossEntropy.apply(features, weight, bias, labels, smoothing)
    return total, plain


class _LinearCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one pass over pieces of tokens."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Compute both sums, and keep the gradients of the first."""
        wanted = any(ctx.needs_input_grad[:3])
        total = torch.zeros((), device=features.device)
        plain = torch.zeros((), device=features.device)
        by_features, by_weight = torch.empty_like(features), torch.zeros_like(weight)
        by_bias = None if bias is None else torch.zeros_like(bias)
        for first in range(0, len(labels), PIECE):
            piece, label = features[first : first + PIECE], labels[first : first + PIECE]
            logits = F.linear(piece, weight, bias).float()
            normaliser = logits.logsumexp(1)
            own = logits.gather(1, label[:, None]).squeeze(1)
            plain += (normaliser - own).sum()
            total += (normaliser - (1 - smoothing) * own - smoothing * logits.mean(1)).sum()
            if not wanted:
                continue
            by_logits = logits.sub_(normaliser[:, None]).exp_().sub_(smoothing / logits.shape[1])
            by_logits.scatter_add_(1, label[:, None], torch.full_like(own, smoothing - 1)[:, None])
            if by_bias is not None:
                by_bias += by_logits.sum(0)
            by_logits = by_logits.to(piece.dtype)
            by_features[first : first + PIECE] = by_logits @ weight.to(piece.dtype)
            by_weight += by_logits.T @ piece
        ctx.save_for_backward(by_features, by_weight, by_bias)
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the kept gradients."""
        scale = gradients[0]
        kept = ctx.saved_tensors
        scaled = [None if gradient is None else gradient * scale for gradient in kept]
        return (*scaled, None, None)
