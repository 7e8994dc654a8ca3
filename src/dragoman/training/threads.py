"""Use the CPU well: find the number of threads that trains a model fastest, and keep each on a core of its own."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from dragoman.interfaces import Batch
from dragoman.machine.cores import CoreWatch
from dragoman.machine.threads import quickest_thread_count
from dragoman.training.contracts import Listener
from dragoman.training.reports import Forward
from dragoman.training.trainer import Trainer


def probe_threads(trainer: Trainer, *, clock: Callable[[], float] = time.perf_counter) -> int:
    """Return 1 or torch's current number of threads, whichever is faster for a few forward and backward passes.

    Weights, buffers and the position in the stream are unchanged; torch's random state is not.
    """
    if torch.get_num_threads() == 1:
        return 1
    position, model = trainer.stream.position, trainer.model
    kept = {name: buffer.clone() for name, buffer in model.named_buffers()}
    batches = [next(trainer.stream).to(trainer.device) for _ in range(2)]
    model.train()
    _pass(trainer, batches[:1])
    threads = quickest_thread_count(lambda: _pass(trainer, batches), clock=clock)
    model.zero_grad(set_to_none=True)
    for name, buffer in model.named_buffers():
        buffer.copy_(kept[name])
    trainer.stream.seek(position)
    return threads


def _pass(trainer: Trainer, batches: list[Batch]) -> None:
    """Compute the gradient of each batch."""
    for batch in batches:
        with trainer.precision:
            loss = trainer.objective(trainer.model, batch)
        loss.total.backward()


class SpreadThreads(Forward):
    """Watches that the threads of training do not share a core."""

    def __init__(self, inner: Listener, watch: CoreWatch) -> None:
        super().__init__(inner)
        self.watch = watch

    def progress(self, record: Mapping[str, Any]) -> None:
        """Forward the numbers of a step, and look where the threads run."""
        super().progress(record)
        if self.watch.step():
            self.say(f"{self.watch.threads} threads shared a core while others were free; each has its own now.")

    def close(self) -> None:
        """Close the other listener, and let the threads run on any core."""
        self.watch.close()
        super().close()
