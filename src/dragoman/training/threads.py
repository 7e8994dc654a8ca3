"""Find the number of CPU threads that trains a model fastest: small models are slower with many."""

import time
from collections.abc import Callable

import torch

from dragoman.interfaces import Batch
from dragoman.machine.threads import quickest_thread_count
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
