"""Batches that do not fit into memory are computed in parts, and training goes on."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import torch

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch
from dragoman.machine.memory import ran_out_of_memory
from dragoman.training.replicas import parts_of

Result = TypeVar("Result")

DEPENDS = "its loss depends on all of it"
"""Why a batch cannot be cut where it is more than its rows."""
DIVIDED = "weights are divided among processes, which must all do the same"
"""Why it cannot with `training.shard`."""


class Size(NamedTuple):
    """The size of a batch; lengths are those of the longest sentences, in tokens."""

    rows: int
    source: int
    target: int

    @property
    def cells(self) -> int:
        """Return the tokens of both sides, padding included."""
        return self.rows * (self.source + self.target)

    def contains(self, other: "Size") -> bool:
        """Tell whether a batch of this size is as large as another one in every way.

        >>> Size(4, 9, 9).contains(Size(4, 8, 9)), Size(4, 9, 9).contains(Size(5, 2, 2))
        (True, False)
        """
        return all(own >= its for own, its in zip(self, other, strict=True))


def size_of(batch: Batch) -> Size:
    """Return the size of a batch."""
    rows, length = batch.source.ids.shape
    return Size(rows, length, batch.target.ids.shape[1])


@dataclass
class Splitter:
    """Takes steps whose batches may not fit into memory: such a batch is cut in two by rows, as often as it must be.

    A step divides its sums once, by all of its target tokens, so loss and gradient are those of the uncut batches up to rounding;
    what is drawn at random, such as dropout, is drawn anew. Sizes that did not fit are remembered, so that no later batch fails
    for being as large. A resumed run does not know them: where batches had to be cut, it equals an uninterrupted one only up to
    rounding and chance.
    """

    say: Callable[[str], object]
    whole: str | None = None
    """Why no batch can be cut, if none can."""
    too_large: list[Size] = field(default_factory=list)
    """Sizes that did not fit."""

    def take(self, step: Callable[[list[Batch]], Result], batches: Sequence[Batch]) -> Result:
        """Return the result of `step`, which gets the batches, or parts of them, on the CPU.

        `step` is repeated where memory runs out, so it must begin with fresh gradients and change weights last, and make another
        error of what goes wrong then. TrainingError if a batch fits neither whole nor in parts.
        """
        parts = [part for batch in batches for part in self._fitting(batch)]
        while True:
            try:
                return step(parts)
            except (MemoryError, RuntimeError) as error:
                if not ran_out_of_memory(error):
                    raise
            free_what_failed()  # outside the handler, where the error no longer holds what was computed
            self._note(max(map(size_of, parts), key=lambda size: size.cells))
            parts = [smaller for part in parts for smaller in self._fitting(part)]

    def _note(self, size: Size) -> None:
        """Remember a size that did not fit, and say so the first time. TrainingError if nothing of that size can be cut."""
        if self.whole is not None:
            raise TrainingError(
                f"a batch of {size.rows} sentences of at most {size.target} tokens does not fit into memory, and cannot be "
                f"computed in parts, because {self.whole}; set a smaller training.batch_tokens"
            )
        if size.rows == 1:
            raise TrainingError(
                f"a single training pair of {size.source} source and {size.target} target tokens does not fit into memory; leave "
                "such long sentences out with data.filters.max_words, choose a smaller model, or close other programs"
            )
        if not self.too_large:
            self.say(
                f"A batch of {size.rows} sentences of at most {size.target} tokens does not fit into memory. It is computed "
                "in parts, as are others as large, with the same loss and gradient; a smaller training.batch_tokens is faster."
            )
        self.too_large.append(size)

    def _fitting(self, batch: Batch) -> list[Batch]:
        """Return a batch, or its halves and so on if it is as large as one that did not fit."""
        size = size_of(batch)
        if size.rows == 1 or not any(size.contains(other) for other in self.too_large):
            return [batch]
        return [part for half in parts_of(batch, 2) for part in self._fitting(half)]


def free_what_failed() -> None:
    """Give back the memory of a computation that failed: errors, frames and tensors may refer to one another."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
