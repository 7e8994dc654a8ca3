"""Cross-entropy of a linear layer, in pieces: the tensor of tokens x vocabulary never exists whole."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.machine.dtypes import matmul_dtype, upcast

PIECE = 1024
"""Tokens whose logits exist at one time."""

SMALLEST = 1e-30
"""A label less probable than this has its surprise computed from the logits."""


def linear_cross_entropy(
    features: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocab width"],
    bias: Float[Tensor, " vocab"] | None,
    *,
    labels: Int[Tensor, " tokens"],
    smoothing: float = 0.0,
    native: bool = False,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Sum over tokens the cross-entropy of softmax(W x + b), label-smoothed and plain; the plain sum has no gradient.

    Label smoothing gives the label 1 - e + e/V and every other piece e/V (Szegedy et al. 2016, section 7), as torch's
    cross_entropy does. Gradients are computed in the forward pass, piece by piece. Under autocast products and probabilities
    are in its type; what a probability near 1 lacks to 1 is added up from the others, so that it keeps its digits.
    `native`: let the C++ parts, which are loaded, go over the logits where these are on a CPU.
    """
    total, plain = _LinearCrossEntropy.apply(features, weight, bias, labels, smoothing, native)
    return total, plain


class _LinearCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one pass over pieces of tokens.

    With P = softmax(W x + b), smoothing e and the label y, the gradient by the logits is P - e/V, less 1 - e at y. The same
    e/V for all logits is left out of the matrices: it asks for the mean of W's rows alone, and for the sum of the features.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        smoothing: float,
        native: bool,
    ) -> tuple[Tensor, Tensor]:
        """Compute both sums, and keep the gradients of the first."""
        kind = matmul_dtype(features)
        low = kind == torch.bfloat16
        if native and features.device.type == "cpu" and weight.dtype == (torch.float32 if low else kind):
            wanted = any(ctx.needs_input_grad[:3])
            total, plain, *kept = torch.ops.dragoman_native.cross_entropy(
                features, weight, bias, labels.contiguous(), smoothing, low, PIECE, wanted
            )
            ctx.save_for_backward(*kept[: 2 if bias is None else 3], *[None] * (bias is None))
            ctx.mark_non_differentiable(plain)
            return total, plain
        with torch.autocast(features.device.type, enabled=False):
            read, rows, shift = features.to(kind), weight.to(kind), None if bias is None else bias.to(kind)
            by_features = torch.empty_like(read)
            by_weight = torch.zeros_like(weight) if any(ctx.needs_input_grad[:3]) else None
            by_bias = None if bias is None else torch.zeros_like(bias)
            mean = weight.mean(0)
            total, plain = (torch.zeros((), device=features.device) for _ in range(2))
            for first in range(0, len(labels), PIECE):
                piece, label = read[first : first + PIECE], labels[first : first + PIECE, None]
                surprise, own, by_logits = _softmax_loss(F.linear(piece, rows, shift), label, smoothing)
                middle = piece.to(mean.dtype) @ mean + (0.0 if bias is None else bias.mean())
                plain = plain + surprise.sum()
                total = total + surprise.sum() + smoothing * (own - middle).sum()
                if by_weight is None:
                    continue
                by_features[first : first + PIECE] = by_logits @ rows
                by_weight += by_logits.T @ piece
                if by_bias is not None:
                    by_bias += by_logits.sum(0, dtype=by_bias.dtype)
            if by_weight is not None:
                each = smoothing / len(weight)
                by_features -= smoothing * mean.to(kind)
                by_weight -= each * read.sum(0, dtype=by_weight.dtype)
                if by_bias is not None:
                    by_bias -= each * len(labels)
        ctx.save_for_backward(by_features.to(features.dtype), by_weight, by_bias)
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the kept gradients."""
        scale = gradients[0]
        kept = ctx.saved_tensors
        scaled = [None if gradient is None else gradient * scale for gradient in kept]
        return (*scaled, None, None, None)


def _softmax_loss(
    logits: Float[Tensor, "tokens vocab"], label: Int[Tensor, "tokens 1"], smoothing: float
) -> tuple[Float[Tensor, " tokens"], Float[Tensor, " tokens"], Float[Tensor, "tokens vocab"]]:
    """Return -log P(label), the label's logit, and the gradient by the logits without its part that is the same for all."""
    own = upcast(logits.gather(1, label).squeeze(1))
    chances = logits.softmax(1)
    chance = upcast(chances.gather(1, label).squeeze(1))
    chances.scatter_(1, label, 0.0)
    others = chances.sum(1, dtype=own.dtype)
    surprise = torch.where(chance < 0.5, -chance.log(), -torch.log1p(-others))
    rare = chance < SMALLEST
    if logits.device.type != "cpu":
        surprise = torch.where(rare, _rare_surprise(logits, chances, own), surprise)
    elif bool(rare.any()):
        surprise = upcast(logits).logsumexp(1) - own
    return surprise, own, chances.scatter_(1, label, (smoothing - others).to(chances.dtype)[:, None])


def _rare_surprise(
    logits: Float[Tensor, "tokens vocab"], chances: Float[Tensor, "tokens vocab"], own: Float[Tensor, " tokens"]
) -> Float[Tensor, " tokens"]:
    """Return -log P of labels of which `chances` says 0, from those of the likeliest pieces, without asking which they are.

    log of the sum of all exp = max - log P(max). On a CPU it is cheaper to ask; a GPU would have to be waited for.
    """
    highest, at = logits.max(1, keepdim=True)
    return upcast(highest - upcast(chances.gather(1, at)).log()).squeeze(1) - own
