"""Interfaces of the training loop: batches, an objective, validation, and a listener."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from dragoman.interfaces import Batch, Loss

Objective = Callable[[Any, Batch], Loss]
"""Takes a model and a batch; the model is of the architecture that the objective is for."""

Objectives = Callable[[Any], Objective]
"""Builds the objective of a phase of training from its settings, whose class depends on the task."""

Validate = Callable[[Any], Mapping[str, Any]]
"""Takes the model; returns `dev_loss`, `dev_bleu` if that is the metric, and anything else worth recording."""


@runtime_checkable
class Stream(Protocol):
    """An endless stream of batches that can be resumed at any position, such as a `BatchStream`.

    Of several processes each has one, over the same batches in the same order (`training/world.py`).
    """

    def __next__(self) -> Batch:
        """Return the next batch."""
        ...

    @property
    def position(self) -> dict[str, int]:
        """Return the position of the next batch."""
        ...

    @property
    def epochs_done(self) -> float:
        """Return the number of passes over the corpus so far."""
        ...

    def seek(self, position: dict[str, Any]) -> None:
        """Move to a position from a stream over the same corpus."""
        ...

    def close(self) -> None:
        """Stop preparing batches in the background."""
        ...


@runtime_checkable
class Listener(Protocol):
    """Is notified of every step and every record of training."""

    def progress(self, record: Mapping[str, Any]) -> None:
        """Receive the numbers of a step: loss, perplexity, learning_rate, tokens_per_second, padding, share, seconds_left."""
        ...

    def record(self, record: Mapping[str, Any]) -> None:
        """Receive a record that is also written to metrics.jsonl."""
        ...

    def say(self, sentence: str) -> None:
        """Receive a message for the user."""
        ...

    def close(self) -> None:
        """Clean up after training has ended."""
        ...
