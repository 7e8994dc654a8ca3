"""The progress of training and its running totals."""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman.interfaces import Batch
from dragoman.training.flops import Meter
from dragoman.training.schedules import learning_rate
from dragoman.training.settings import OptimisationSettings
from dragoman.training.step import StepResult


@dataclass
class Progress:
    """The progress of training, saved with every checkpoint. Tokens and FLOPs are totals over all processes."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    best: float | None = None
    """The highest value of a validation so far; see `selection.is_better`."""
    best_step: int = 0
    """Step of the weights that are kept, or of the last of those that were averaged."""
    best_loss: float | None = None
    """Dev loss of the weights that are kept; None in runs of earlier releases."""
    averaged: int = 0
    """Of how many checkpoints the weights that are kept are the average, or 0."""
    stale: int = 0
    """Validations since the weights that are kept."""
    finished: bool = False
    phase: int = 0
    began: int = 0
    """Steps taken before this phase."""
    cuts: int = 0
    """Validations of this phase at which a plateau lowered the learning rate."""
    cost: Meter = field(default_factory=Meter)
    due: bool = False
    """Whether the validation of this step is still to be done: a signal interrupted it."""
    stopped_by: int = 0
    """Signal that ended this session, or 0; not saved."""

    @property
    def flops(self) -> float:
        """Return the floating-point operations of all steps so far."""
        return self.cost.flops

    def used(self, epochs: float) -> dict[str, int | float]:
        """Return what training has used of each budget, given the passes over the corpus."""
        return {
            "steps": self.step,
            "epochs": epochs,
            "minutes": self.seconds / 60,
            "tokens": self.tokens,
            "flops": self.flops,
        }

    def next_rate(self, settings: OptimisationSettings, share: float) -> float:
        """Return the learning rate of the coming step, under the settings of its phase, of which `share` is over."""
        step = self.step + 1 - self.began
        peak, warmup = settings.learning_rate, settings.warmup
        return learning_rate(settings.schedule, step, share, peak=peak, warmup=warmup, cuts=self.cuts)

    def costs(self) -> dict[str, int | float]:
        """Return the cost of training so far, as written to records."""
        return {"seconds": round(self.seconds, 3), "tokens": self.tokens, "flops": self.flops}

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary that `from_json` reads."""
        table = asdict(self)
        del table["stopped_by"]
        if not self.due:  # earlier releases do not know it
            del table["due"]
        return table

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> "Progress":
        """Restore from the result of `to_json`. Raises TypeError for anything else, such as steps that are NaN and never end."""
        found = cls(**{**table, "cost": Meter(**table.get("cost", {}))})
        counts = {**vars(found), **vars(found.cost), "cost": 0, "best": 0, "best_loss": 0}
        bests = [one for one in (found.best, found.best_loss) if one is not None]
        if not all(isinstance(one, int | float) and math.isfinite(one) for one in (*counts.values(), *bests)):
            raise TypeError("it holds something other than numbers")
        if min(counts.values()) < 0:
            raise TypeError("it holds negative numbers")
        return found


@dataclass
class RunningTotals:
    """Sums since the last record in metrics.jsonl."""

    total: float = 0.0
    plain: float = 0.0
    tokens: int = 0
    padded: int = 0
    cells: int = 0
    began: float = field(default_factory=lambda: time.monotonic())

    def add(self, result: StepResult, batches: Iterable[Batch]) -> None:
        """Count one step."""
        self.total += result.total
        self.plain += result.plain
        self.tokens += result.tokens
        for batch in batches:
            for side in (batch.source, batch.target):
                self.cells += side.mask.numel()
                self.padded += int((~side.mask).sum())

    def record(self, progress: Progress, *, epochs: float, share: float, learning_rate: float) -> dict[str, Any]:
        """Return the numbers of the progress line; `share` is the used share of the budget."""
        tokens = max(self.tokens, 1)
        passed = max(time.monotonic() - self.began, 1e-9)
        return {
            "step": progress.step,
            "epoch": round(epochs, 3),
            **progress.costs(),
            "loss": self.total / tokens,
            "perplexity": math.exp(min(self.plain / tokens, 50)),
            "learning_rate": learning_rate,
            "tokens_per_second": self.tokens / passed,
            "padding": self.padded / max(self.cells, 1),
            "share": share,
            "seconds_left": progress.seconds * (1 - share) / share if share > 0.001 and progress.seconds else None,
        }
