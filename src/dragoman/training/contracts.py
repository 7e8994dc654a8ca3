"""What the training loop is given: batches, an objective, a measure on dev, and someone who listens."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from dragoman.interfaces import Batch, Loss

Objective = Callable[[Any, Batch], Loss]
"""Takes a model and a batch; the model is of the architecture that the objective is for."""

Objectives = Callable[[Any], Objective]
"""Makes the objective of a phase of training from its settings, which are of the task's own class."""

Validate = Callable[[Any], Mapping[str, Any]]
"""Takes the model; returns `dev_loss`, `dev_bleu` where that is the metric, and whatever else is worth a record."""


@runtime_checkable
class Stream(Protocol):
    """An endless stream of batches that can be left and resumed at any of them, such as a `BatchStream`.

    Each of several processes would have a stream of its own, over its share of the batches.
    """

    def __next__(self) -> Batch:
        """Return the next batch."""
        ...

    @property
    def position(self) -> dict[str, int]:
        """Position of the next batch."""
        ...

    @property
    def epochs_done(self) -> float:
        """Passes over the corpus so far."""
        ...

    def seek(self, position: dict[str, Any]) -> None:
        """Move to a position that a stream over the same corpus had."""
        ...

    def close(self) -> None:
        """End what makes batches in the background."""
        ...


@runtime_checkable
class Listener(Protocol):
    """Is told of every step and every record of training."""

    def progress(self, record: Mapping[str, Any]) -> None:
        """Receive a step: step, loss, perplexity, learning_rate, tokens_per_second, padding, share, seconds_left."""
        ...

    def record(self, record: Mapping[str, Any]) -> None:
        """Receive a record that is also written to metrics.jsonl."""
        ...

    def say(self, sentence: str) -> None:
        """Receive a sentence for the user."""
        ...

    def close(self) -> None:
        """Learn that training has ended."""
        ...
