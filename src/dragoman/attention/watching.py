"""Watch attention from outside and change its weights, for the time of a call and in this thread alone.

The weights that attention averages with come from `attend.py` as ever; whoever watches sees them with all they were made of, and
gives back the weights to use. Nothing is kept on a module, and where nobody watches, nothing changes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.interfaces import KeyValues


@dataclass(frozen=True)
class Look:
    """What one attention averages with, and what that was made of."""

    queries: Float[Tensor, "batch head query query_dim"]
    scores: Float[Tensor, "batch head query key"]
    mask: Bool[Tensor, "#batch #head #query key"] | None
    memory: KeyValues
    weights: Float[Tensor, "batch head query key"]


Watcher = Callable[[nn.Module, Look], Tensor]
"""Gets the `Lookup` that is about to average and its `Look`, and returns the weights to average with."""

_watching: ContextVar[Watcher | None] = ContextVar("watching", default=None)


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Show every look of attention in this thread to a watcher. Fused kernels make none: ask for weights."""
    token = _watching.set(by)
    try:
        yield
    finally:
        _watching.reset(token)


def watcher() -> Watcher | None:
    """Return who watches, if anybody does."""
    return None if torch.compiler.is_compiling() else _watching.get()
