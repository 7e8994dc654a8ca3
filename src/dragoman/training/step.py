"""One training step."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch, Loss
from dragoman.layers.adapters import Adapters
from dragoman.machine.memory import ran_out_of_memory
from dragoman.training.contracts import Objective, Stream
from dragoman.training.flops import not_counting
from dragoman.training.replicas import Replicas, add_gradient
from dragoman.training.shards import nothing, whole
from dragoman.training.world import ALONE, World

UPDATE_FAILED = (
    "memory ran out while the weights were updated, so some may have changed and others not; choose a smaller model or "
    "training.batch_tokens, or close other programs, and continue from the last checkpoint with --resume, or start again"
)
"""What is said where a step fails too late to be repeated."""


@dataclass(frozen=True)
class StepResult:
    """Sums over the target tokens of one step, before the update."""

    total: float
    plain: float
    tokens: int
    norm: float
    """Norm of the gradient before clipping."""


@dataclass(frozen=True)
class Compute:
    """With what a step is computed."""

    precision: AbstractContextManager[Any] = field(default_factory=nullcontext)
    replicas: Replicas | None = None
    """Copies of the model that compute each batch in parts, with a precision of their own."""
    adapters: Adapters | None = None
    """Adapters that are trained in the place of the model."""
    world: World = ALONE
    """The processes that share the step."""
    idle: Sequence[Batch] = ()
    """Batches that this process computes for nothing, because weights are divided and the others compute more than it."""


def target_tokens(batches: Sequence[Batch]) -> int:
    """Return the number of target tokens, over whose losses a step takes the mean."""
    return sum(len(batch.label_positions) for batch in batches)


def gather(stream: Stream, tokens: int | None) -> list[Batch]:
    """Take batches until they hold `tokens` target tokens, or one. They stay on the CPU, to be counted."""
    batches = [next(stream)]
    while tokens and target_tokens(batches) < tokens:
        batches.append(next(stream))
    return batches


def describe(batches: Sequence[Batch]) -> str:
    """Say how large batches are, for a message."""
    return ", ".join(f"{b.source.ids.shape[0]} sentences of at most {b.target.ids.shape[1]} tokens" for b in batches)


class NotFiniteError(TrainingError):
    """The loss or the gradient is not finite; the weights were not changed."""


def train_step(
    model: nn.Module,
    objective: Objective,
    optimizer: Optimizer,
    *,
    batches: Sequence[Batch],
    clip: float,
    compute: Compute,
    tokens: int | None = None,
) -> StepResult:
    """Take one optimiser step on the mean loss over every target token of `batches`.

    Batches are weighted by their tokens, so the gradient is that of one big batch. Where several processes share the step, these
    are the batches of this one, and `tokens` is the number over all. NotFiniteError leaves the weights unchanged, as does any
    error that is no TrainingError. Nothing is read from the device before the whole gradient has been queued.
    """
    optimizer.zero_grad(set_to_none=True)
    if compute.adapters is not None:
        compute.adapters.forget_gradients()
    tokens = target_tokens(batches) if tokens is None else tokens
    losses: list[Loss] = []
    for batch in batches:
        if compute.replicas is None:
            losses.append(add_gradient(model, objective, batch, tokens=tokens, precision=compute.precision))
        else:
            losses += compute.replicas.add_gradient(objective, batch, tokens=tokens)
    for batch in compute.idle:
        add_gradient(model, nothing(objective), batch, tokens=tokens, precision=compute.precision)
    if compute.adapters is not None:
        compute.adapters.take_gradients()
    owned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    compute.world.sum_gradients(owned)
    gradients = [parameter.grad for parameter in owned if parameter.grad is not None]
    norm = whole(get_total_norm(gradients, foreach=True)).item()
    own = [sum(one.total.item() for one in losses), sum(one.plain.item() for one in losses)]
    total, plain = compute.world.sum(own)
    if not (math.isfinite(total) and math.isfinite(norm)):
        raise NotFiniteError(f"the loss is {total / tokens} and the norm of the gradient {norm}")
    share = clip / (norm + 1e-6)
    if share < 1:
        torch._foreach_mul_(gradients, share)
    try:
        with not_counting():
            optimizer.step()
            if compute.adapters is not None:
                compute.adapters.merge()
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        raise TrainingError(UPDATE_FAILED) from None
    return StepResult(total, plain, tokens, norm)
