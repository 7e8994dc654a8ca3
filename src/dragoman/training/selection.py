"""Select weights: keep the best on dev and the last few for averaging, and notice when dev no longer improves."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from dragoman.errors import DamagedError, RunError, TrainingError, number_of
from dragoman.machine.memory import return_freed_memory
from dragoman.training.checkpoint import check_fits, load_tensors
from dragoman.training.contracts import Validate
from dragoman.training.files import RunFiles
from dragoman.training.progress import Progress
from dragoman.training.reports import MetricsFile
from dragoman.training.settings import OptimisationSettings

CHANCE = 0.02
"""Share of the highest dev BLEU by which another may be lower by chance: BLEU of a few hundred sentences says no more."""
HOPELESS = 3.0
"""A loss this many times that of guessing means divergence: even random weights are closer to guessing."""


def measure(validate: Validate, model: nn.Module) -> dict[str, Any]:
    """Validate a model, in evaluation mode. Raises TrainingError if its probabilities are NaN."""
    training = model.training
    model.eval()
    return_freed_memory()
    try:
        scores = dict(validate(model))
    except RunError:
        scores = {"dev_loss": math.nan}
    finally:
        model.train(training)
        return_freed_memory()
    if not math.isfinite(scores["dev_loss"]):
        raise TrainingError("the model produces NaN probabilities on dev")
    return scores


def value_of(scores: Mapping[str, Any], settings: OptimisationSettings) -> float:
    """Return the number by which weights are compared; larger is better."""
    return float(scores["dev_bleu"] if settings.metric == "bleu" else -scores["dev_loss"])


def is_better(scores: Mapping[str, Any], *, progress: Progress, settings: OptimisationSettings) -> bool:
    """Return whether weights with these scores are better than those that are kept.

    A new highest value always is. BLEU a little below the highest may be so by chance, so there a lower dev loss decides; many
    small steps down do not add up, because the highest so far stays what BLEU is compared with.
    """
    value = value_of(scores, settings)
    if progress.best is None or value > progress.best:
        return True
    close = settings.metric == "bleu" and value >= (1 - CHANCE) * progress.best
    return close and progress.best_loss is not None and scores["dev_loss"] < progress.best_loss


def note_kept(
    progress: Progress, scores: Mapping[str, Any], settings: OptimisationSettings, *, averaged: int = 0
) -> None:
    """Record in `progress` that the current weights are kept, or the average of so many."""
    value = value_of(scores, settings)
    progress.best = value if progress.best is None else max(progress.best, value)
    progress.best_step, progress.best_loss, progress.averaged = progress.step, scores["dev_loss"], averaged


def select(
    files: RunFiles, model: nn.Module, scores: Mapping[str, Any], *, progress: Progress, settings: OptimisationSettings
) -> bool:
    """Keep the weights of a validation if they are better than those kept so far, and return whether they are."""
    better = is_better(scores, progress=progress, settings=settings)
    progress.stale = 0 if better else progress.stale + 1
    progress.cuts += not better and settings.schedule == "plateau"
    if better:
        note_kept(progress, scores, settings)
        files.save_weights(files.weights, model, {"step": progress.step, **scores})
    files.keep(model, progress.step, settings.kept_weights)
    return better


def out_of_patience(progress: Progress, settings: OptimisationSettings, *, say: Callable[[str], None]) -> bool:
    """Return whether dev has not improved for `patience` validations, and say so."""
    if settings.patience is None or progress.stale < settings.patience:
        return False
    say(
        f"Stopped early: {number_of(settings.patience, 'validation')} without better weights than those of step "
        f"{progress.best_step}."
    )
    return True


def check_learned(metrics: MetricsFile, guess: float, *, say: Callable[[str], None]) -> None:
    """Raise TrainingError if training diverged before it learned anything; warn if it diverged later.

    `guess` is the loss of guessing uniformly among all labels. A dev loss of the best weights HOPELESS times as large can
    only come from divergence; everything is saved by then.
    """
    validations = [record for record in metrics.read() if isinstance(record.get("dev_loss"), float)]
    best = next((one for one in reversed(validations) if one.get("best", "averaged" in one)), None)
    if best is None:
        return
    loss, last = best["dev_loss"], validations[-1]["dev_loss"]
    remedy = "lower training.learning_rate or training.clip"
    if loss > HOPELESS * guess:
        raise TrainingError(
            f"training diverged: the dev loss of the best weights is {loss:.3g}, where guessing would give {guess:.3g}; "
            f"{remedy}, and start another run with --out"
        )
    if last > HOPELESS * guess:
        say(
            f"Training diverged, and the best weights are those of an earlier step: the dev loss was {last:.3g} at the end, "
            f"where guessing would give {guess:.3g}; {remedy} for better ones."
        )


def recover_best(files: RunFiles, model: nn.Module, progress: Progress) -> str | None:
    """Make sure, when a run is resumed, that its best weights are readable; return a message if they were not.

    A damaged file is replaced by the weights of the same step that were kept for averaging. If the file is missing,
    `progress` forgets the best so far, so that the next validation chooses again. Raises RunError if the file is damaged
    without a replacement, or belongs to another run or model.
    """
    if progress.best is None:
        return None
    if not files.weights.exists():
        progress.best, progress.best_step, progress.stale = None, 0, 0
        return f"{files.weights} is missing, so the best weights are chosen again, starting with the current ones."
    try:
        tensors, metadata = load_tensors(files.weights)
        files.check(files.weights, metadata)
        files.check_recorded(files.weights)
    except DamagedError:
        kept = files.kept_at(progress.best_step)
        try:
            tensors, metadata = files.load(kept)
        except RunError:
            raise RunError(
                f"{files.weights} is damaged; restore it from an intact copy, or delete it, and training continues and chooses "
                "the best weights again"
            ) from None
        check_fits(model, tensors, kept)
        files.save(files.weights, tensors, metadata)
        progress.averaged = 0
        return (
            f"{files.weights} was damaged and has been replaced by {kept}, the weights of step {progress.best_step:,}."
        )
    check_fits(model, tensors, files.weights)
    return None
