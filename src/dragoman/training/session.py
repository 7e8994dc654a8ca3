"""One session of training: from the first step, or from where the last session stopped, to the end or to a signal."""

import torch

from dragoman.machine.cores import CoreWatch
from dragoman.training.progress import Progress
from dragoman.training.reports import TensorBoard
from dragoman.training.stopping import stops_when_asked
from dragoman.training.threads import SpreadThreads
from dragoman.training.trainer import Trainer
from dragoman.training.world import connection_named


def train_for_a_session(trainer: Trainer, *, seed: int, resuming: bool) -> Progress:
    """Train until the budget is used or a signal asks to stop, save in either case, and close the stream of batches.

    The `seed` of the run determines everything random that follows; a resumed run continues with its saved random state.
    """
    watch = CoreWatch(torch.get_num_threads() if trainer.device.type == "cpu" else 1)
    trainer.listener = SpreadThreads(trainer.listener, watch)
    if trainer.settings.tensorboard and trainer.world.is_first:
        trainer.listener = TensorBoard(trainer.files.folder / "tensorboard", trainer.listener)
    try:
        if resuming:
            trainer.restore()
            trainer.listener.say(_where(trainer))
        else:
            torch.manual_seed(seed + 1)
            if trainer.world.is_first:
                trainer.metrics.truncate_after(0)
        with stops_when_asked(trainer), connection_named():
            return trainer.run()
    finally:
        watch.close()
        trainer.stream.close()
        if trainer.replicas is not None:
            trainer.replicas.close()


def _where(trainer: Trainer) -> str:
    """Say where a restored trainer goes on, or how it could if its budget is used up."""
    step, spent = trainer.progress.step, trainer.spent()
    if not trainer.progress.finished:
        return f"Resuming at step {step}."
    if spent is None:
        more = 2 * (trainer.settings.patience or 1)
        return f"To train on from step {step}, resume with more patience, such as --set training.patience={more}."
    used = trainer.progress.used(trainer.stream.epochs_done)[spent]
    more = 2 * max(trainer.budgets[spent], used)  # what is used may be more than a budget that was lowered
    shown = f"{more:.3g}" if isinstance(more, float) else more
    larger = f"--set training.{spent}={shown}"
    phases = " Phases are shares of it, so training may go back to an earlier one." if trainer.settings.phases else ""
    return f"The budget was used up at step {step}; to train on, resume with a larger one, such as {larger}.{phases}"
