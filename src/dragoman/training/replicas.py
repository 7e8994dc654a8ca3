"""Compute the gradient of a batch in parts, each with a copy of the model in a thread of its own.

Small matrices do not gain from a second core: threads that share each product wait for one another. Copies that share only the
weights meet once per step.
"""

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from dragoman.data.buckets import split_evenly
from dragoman.interfaces import Batch, Loss
from dragoman.layers.dropout import Dropout
from dragoman.training.contracts import Objective
from dragoman.training.flops import is_counting
from dragoman.tree import map_tensors

PART_TOKENS = 500
"""Target tokens of a batch for each replica: smaller products are slow even on one core."""


def suitable_count(threads: int, batch_tokens: int) -> int:
    """Return how many replicas share a batch, where as many threads may be used.

    >>> suitable_count(2, 1500), suitable_count(16, 1500), suitable_count(2, 600)
    (2, 3, 1)
    """
    return max(1, min(threads, batch_tokens // PART_TOKENS))


def add_gradient(
    model: nn.Module, objective: Objective, batch: Batch, *, tokens: int, precision: AbstractContextManager[Any]
) -> Loss:
    """Add the gradient of a batch's loss, divided by `tokens`, to those of the model's parameters; return the loss."""
    with precision:
        loss = objective(model, batch)
    (loss.total / tokens).backward()
    return Loss(loss.total.detach(), loss.tokens, loss.plain)


def parts_of(batch: Batch, count: int) -> list[Batch]:
    """Split a batch by rows into at most `count` parts of almost the same number of rows."""
    whole = replace(batch, cached_label_positions=None)
    return [
        map_tensors(lambda tensor, rows=rows: tensor[rows.start : rows.stop], whole)  # type: ignore[misc]
        for rows in split_evenly(len(batch.source.ids), count)
    ]


class Replicas:
    """A model and copies of it on a CPU that share its weights, with a thread for each.

    Gradients are sums over the parts, so they are those of the whole batch up to rounding. Copies drop other units than the
    model: each step draws their seeds from torch's random state, so the same state gives the same step.
    """

    def __init__(
        self, model: nn.Module, count: int, *, threads: int, precision: Callable[[], AbstractContextManager[Any]]
    ) -> None:
        self.model = model
        self.copies = [copy.deepcopy(model) for _ in range(count - 1)]
        self.generators = [torch.Generator() for _ in self.copies]
        for replica, generator in zip(self.copies, self.generators, strict=True):
            for module in replica.modules():
                if isinstance(module, Dropout):
                    module.generator = generator
        self.precision = precision
        self._pool = ThreadPoolExecutor(
            count, "replica", initializer=partial(torch.set_num_threads, max(threads // count, 1))
        )

    @property
    def count(self) -> int:
        """Return the number of models."""
        return 1 + len(self.copies)

    def add_gradient(self, objective: Objective, batch: Batch, *, tokens: int) -> list[Loss]:
        """Add the gradient of a batch's loss, divided by `tokens`, to those of the model; return the losses of its parts."""
        self._follow()
        models, parts = (self.model, *self.copies), parts_of(batch, self.count)
        work = partial(self._part, objective, tokens=tokens)
        if is_counting():  # only this thread is counted
            losses = [work(model, part) for model, part in zip(models, parts, strict=False)]
        else:
            begun = [self._pool.submit(work, model, part) for model, part in zip(models, parts, strict=False)]
            wait(begun)  # for all, even if one has failed: nothing may be at work when the step is repeated
            losses = [one.result() for one in begun]
        for replica in self.copies[: len(parts) - 1]:
            _move_gradients(replica, self.model)
        return losses

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _part(self, objective: Objective, model: nn.Module, part: Batch, *, tokens: int) -> Loss:
        """Compute one part."""
        return add_gradient(model, objective, part, tokens=tokens, precision=self.precision())

    def _follow(self) -> None:
        """Let the copies do as the model does: its weights, its mode, its rates of dropout, and new seeds."""
        seeds = torch.randint(2**62, (len(self.copies),)).tolist()
        for replica, generator, seed in zip(self.copies, self.generators, seeds, strict=True):
            generator.manual_seed(seed)
            for own, weight in zip(replica.parameters(), self.model.parameters(), strict=True):
                own.data = weight.data
                own.grad = None  # of a step that failed
            for own_part, part in zip(replica.modules(), self.model.modules(), strict=True):
                own_part.training = part.training
                if isinstance(own_part, Dropout) and isinstance(part, Dropout):
                    own_part.dropped = part.dropped


@torch.no_grad()
def _move_gradients(replica: nn.Module, model: nn.Module) -> None:
    """Add the gradients of a replica to those of the model, and remove them."""
    for own, other in zip(model.parameters(), replica.parameters(), strict=True):
        if other.grad is not None:
            own.grad = other.grad if own.grad is None else own.grad.add_(other.grad)
            other.grad = None
