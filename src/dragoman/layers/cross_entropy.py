"""Cross-entropy of a linear layer, in chunks: the tokens x vocabulary tensor is never materialised."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.machine.dtypes import matmul_dtype, upcast
from dragoman.native.loss import losses

PIECE = 1024
"""Number of tokens whose logits exist at one time."""

SMALLEST = 1e-30
"""The loss of a label less probable than this is computed from the logits."""


def linear_cross_entropy(
    features: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocab width"],
    bias: Float[Tensor, " vocab"] | None,
    *,
    labels: Int[Tensor, " tokens"],
    smoothing: float = 0.0,
    native: bool = False,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the cross-entropy of softmax(W x + b) summed over tokens, label-smoothed and plain; the latter has no gradient.

    Label smoothing gives the label 1 - e + e/V and every other token e/V (Szegedy et al. 2016, section 7), as torch's
    cross_entropy does. Gradients are computed in the forward pass, chunk by chunk. Under autocast, products and
    probabilities have its dtype; for a probability near 1, the complement is summed from the other tokens to keep precision.
    `native`: let the C++ extension `LOSS`, already loaded, process logits on a CPU.
    """
    total, plain = _LinearCrossEntropy.apply(features, weight, bias, labels, smoothing, native)
    return total, plain


class _LinearCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one pass over chunks of tokens.

    With P = softmax(W x + b), smoothing e and the label y, the gradient with respect to the logits is P - e/V, minus 1 - e
    at y. The constant e/V is left out of the matrices: it only needs the mean of W's rows and the sum of the features.
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
        """Compute both sums and save the gradients of the first."""
        kind = matmul_dtype(features)
        wide = torch.promote_types(kind, torch.float32)
        native = native and features.device.type == "cpu" and weight.dtype == wide
        with torch.autocast(features.device.type, enabled=False):
            read, rows, shift = features.to(kind), weight.to(kind), None if bias is None else bias.to(kind)
            grad_features = torch.empty_like(read)
            wanted = any(ctx.needs_input_grad[:3])
            grad_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
            grad_bias = None if bias is None else torch.zeros_like(bias)
            mean = weight.mean(0)
            total, plain = (torch.zeros((), device=features.device) for _ in range(2))
            for first in range(0, len(labels), PIECE):
                piece, label = read[first : first + PIECE], labels[first : first + PIECE]
                if native:
                    grad_logits = piece @ rows.T
                    smoothed, nll = losses(grad_logits, bias, label.contiguous(), smoothing=smoothing)
                    total, plain = total + smoothed.sum(), plain + nll.sum()
                else:
                    loss = _softmax_loss(F.linear(piece, rows, shift), label[:, None], smoothing)
                    middle = piece.to(mean.dtype) @ mean + (0.0 if bias is None else bias.mean())
                    plain = plain + loss.nll.sum()
                    total = total + loss.nll.sum() + smoothing * (loss.label_logits - middle).sum()
                    grad_logits = loss.grad_logits
                if not wanted:
                    continue
                torch.mm(grad_logits, rows, out=grad_features[first : first + PIECE])
                if grad_weight is not None and grad_weight.dtype == kind:
                    grad_weight.addmm_(grad_logits.T, piece)
                elif grad_weight is not None:
                    grad_weight += grad_logits.T @ piece
                if grad_bias is not None:
                    grad_bias += grad_logits.sum(0, dtype=grad_bias.dtype)
            each = smoothing / len(weight)
            if wanted:
                grad_features -= smoothing * mean.to(kind)
                if grad_weight is not None:
                    grad_weight -= each * read.sum(0, dtype=grad_weight.dtype)
                if grad_bias is not None:
                    grad_bias -= each * len(labels)
        ctx.save_for_backward(grad_features.to(features.dtype), grad_weight, grad_bias)
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the saved gradients."""
        scale = gradients[0]
        kept = ctx.saved_tensors
        scaled = [None if gradient is None else gradient * scale for gradient in kept]
        return (*scaled, None, None, None)


@dataclass(frozen=True)
class _SoftmaxLoss:
    """The loss of a piece, token by token."""

    nll: Float[Tensor, " tokens"]
    """-log P(label)."""
    label_logits: Float[Tensor, " tokens"]
    grad_logits: Float[Tensor, "tokens vocab"]
    """The gradient by the logits, without its part that is the same for all of them."""


def _softmax_loss(
    logits: Float[Tensor, "tokens vocab"], label: Int[Tensor, "tokens 1"], smoothing: float
) -> _SoftmaxLoss:
    """Return the loss of labels under a softmax, and the gradient by the logits with label smoothing."""
    label_logits = upcast(logits.gather(1, label).squeeze(1))
    probs = logits.softmax(1)
    prob = upcast(probs.gather(1, label).squeeze(1))
    probs.scatter_(1, label, 0.0)
    others = probs.sum(1, dtype=label_logits.dtype)
    nll = torch.where(prob < 0.5, -prob.log(), -torch.log1p(-others))
    rare = prob < SMALLEST
    if logits.device.type != "cpu":
        nll = torch.where(rare, _rare_nll(logits, probs, label_logits), nll)
    elif bool(rare.any()):
        nll = upcast(logits).logsumexp(1) - label_logits
    grad_logits = probs.scatter_(1, label, (smoothing - others).to(probs.dtype)[:, None])
    return _SoftmaxLoss(nll, label_logits, grad_logits)


def _rare_nll(
    logits: Float[Tensor, "tokens vocab"], probs: Float[Tensor, "tokens vocab"], label_logits: Float[Tensor, " tokens"]
) -> Float[Tensor, " tokens"]:
    """Return -log P of labels whose `probs` are 0, derived from the most probable token, without checking which they are.

    logsumexp = max - log P(max). On a CPU it is cheaper to check; on a GPU that would synchronise.
    """
    highest, at = logits.max(1, keepdim=True)
    return upcast(highest - upcast(probs.gather(1, at)).log()).squeeze(1) - label_logits
