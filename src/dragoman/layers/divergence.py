"""The divergence between two predictions of the same tokens, in pieces: no tokens x vocabulary tensor is ever whole."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dragoman.interfaces import Head
from dragoman.layers.mixture import MixtureHead
from dragoman.machine.dtypes import upcast

PIECE = 1024
"""Number of tokens whose logits exist at one time, twice."""


def divergence(
    head: Head,
    first: Float[Tensor, "tokens dim"],
    second: Float[Tensor, "tokens dim"],
    *,
    symmetric: bool,
    parameters: Sequence[Tensor],
) -> Float[Tensor, ""]:
    """Return KL(P || Q) summed over tokens, where P and Q are what `head` predicts from the features `first` and `second`.

    `symmetric` adds KL(Q || P). Gradients reach both predictions. They are computed in the forward pass, piece by piece, by
    the features and by `parameters`, which must hold all those of the head and may hold others.
    """
    wanted = [parameter for parameter in parameters if parameter.requires_grad]
    total: Tensor = _Divergence.apply(head, symmetric, first, second, *wanted)
    return total


class _Divergence(torch.autograd.Function):
    """The divergence and its gradients in one pass over pieces, so that no logits are computed twice."""

    @staticmethod
    def forward(
        ctx: Any, head: Head, symmetric: bool, first: Tensor, second: Tensor, *parameters: Tensor
    ) -> Float[Tensor, ""]:
        """Compute the sum, and save its gradients."""
        rows = head.rows_at_once(first) if isinstance(head, MixtureHead) else PIECE
        total = torch.zeros((), device=first.device)
        by_features: list[tuple[Tensor, Tensor]] = []
        by_parameters: list[Tensor | None] = [None] * len(parameters)
        for ours, theirs in zip(first.split(rows), second.split(rows), strict=True):
            both = torch.cat([ours, theirs]).requires_grad_()
            with torch.enable_grad():
                logits = head(both)
            sums, by_logits = _divergence_of(upcast(logits.detach()), symmetric)
            total = total + sums
            found = torch.autograd.grad(logits, [both, *parameters], by_logits.to(logits.dtype), allow_unused=True)
            by_both = found[0]
            assert by_both is not None
            by_features.append((by_both[: len(ours)], by_both[len(ours) :]))
            for at, gradient in enumerate(found[1:]):
                before = by_parameters[at]
                by_parameters[at] = gradient if before is None or gradient is None else before.add_(gradient)
        sides = [torch.cat(parts) for parts in zip(*by_features, strict=True)]
        ctx.save_for_backward(*sides, *by_parameters)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the saved gradients."""
        scale = gradients[0]
        return None, None, *(None if kept is None else kept * scale for kept in ctx.saved_tensors)


def _divergence_of(logits: Float[Tensor, "both vocab"], symmetric: bool) -> tuple[Float[Tensor, ""], Tensor]:
    """Return the divergence between the first and the second half of the rows, summed, and its gradient by all logits.

    With P and Q the two halves' probabilities: KL(P || Q) = sum P (log P - log Q) has the gradients P (log P - log Q - KL) by
    the logits of P, and Q - P by those of Q.
    """
    log_p, log_q = logits.log_softmax(-1).chunk(2)
    p, q, gap = log_p.exp(), log_q.exp(), log_p - log_q
    there = (p * gap).sum(-1, keepdim=True)
    by_p, by_q = p * (gap - there), q - p
    total = there.sum()
    if symmetric:
        back = -(q * gap).sum(-1, keepdim=True)
        by_p, by_q = by_p - by_q, by_q - q * (gap + back)
        total = total + back.sum()
    return total, torch.cat([by_p, by_q])
