"""How many threads of a CPU train fastest: small models are slower on many."""

import time
from collections.abc import Callable

import torch

from dragoman.interfaces import Batch
from dragoman.training.objectives import Objective
from dragoman.training.trainer import Trainer

WORTHWHILE = 0.9
"""One thread is chosen where its time is below this share of the time of all threads: noise should not decide."""

HOPELESS = 1.5
"""Beyond so many times the time of all threads, one thread is not tried again."""

ROUNDS = 3


def probe_threads(trainer: Trainer, *, clock: Callable[[], float] = time.perf_counter) -> int:
    """Return 1 or the number of threads that torch has now, whichever takes less time for a few forward and backward passes.

    Weights, buffers and place in the stream stay as they are; torch's random state does not.
    """
    many = torch.get_num_threads()
    if many == 1:
        return 1
    position, model = trainer.stream.position, trainer.model
    kept = {name: buffer.clone() for name, buffer in model.named_buffers()}
    batches = [next(trainer.stream).to(trainer.device) for _ in range(2)]
    model.train()
    times: dict[int, list[float]] = {1: [], many: []}
    try:
        _pass(trainer, trainer.objective, batches[:1])
        for _ in range(ROUNDS):
            for threads, taken in times.items():
                torch.set_num_threads(threads)
                begin = clock()
                _pass(trainer, trainer.objective, batches)
                taken.append(clock() - begin)
            if min(times[1]) > HOPELESS * min(times[many]):
                break
    finally:
        torch.set_num_threads(many)
    model.zero_grad(set_to_none=True)
    for name, buffer in model.named_buffers():
        buffer.copy_(kept[name])
    trainer.stream.seek(position)
    return 1 if min(times[1]) < WORTHWHILE * min(times[many]) else many


def _pass(trainer: Trainer, objective: Objective, batches: list[Batch]) -> None:
    """Compute the gradient of each batch."""
    for batch in batches:
        with trainer.precision:
            loss = objective(trainer.model, batch)
        loss.total.backward()
