"""The training loop: take batches, step, report; now and then validate and save."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dragoman.errors import RunError, TrainingError
from dragoman.interfaces import PAD, Batch
from dragoman.layers.dropout import dropout_rates, switch_dropout
from dragoman.training.checkpoint import fill, load_tensors, own_tensors, save_tensors, save_weights
from dragoman.training.flops import Meter
from dragoman.training.objectives import Objective
from dragoman.training.optimizers import build_optimizer
from dragoman.training.precision import PrecisionName, arithmetic
from dragoman.training.reports import Listener, MetricsFile
from dragoman.training.schedules import learning_rate
from dragoman.training.settings import OptimisationSettings
from dragoman.training.step import NotFiniteError, StepResult, set_learning_rate, train_step

Objectives = Callable[[Any], Objective]
"""Makes the objective of a phase of training from its settings, which are of the task's own class."""

Validate = Callable[[Any], Mapping[str, Any]]
"""Takes the model; returns `dev_loss`, `dev_bleu` where that is the metric, and whatever else is worth a record."""


@runtime_checkable
class Stream(Protocol):
    """Batches without end, which can be left and taken up at any one of them, such as a `BatchStream`."""

    def __next__(self) -> Batch:
        """Return the next batch."""
        ...

    @property
    def position(self) -> dict[str, int]:
        """Where the next batch stands."""
        ...

    @property
    def epochs_done(self) -> float:
        """Passes over the corpus so far."""
        ...

    def seek(self, position: dict[str, Any]) -> None:
        """Go to a position that a stream over the same corpus had."""
        ...

    def close(self) -> None:
        """End what makes batches in the background."""
        ...


LAST = 1 - 1e-9
"""The largest share of the budget in which something is still to be done."""


@dataclass
class Progress:
    """Where training stands; saved with every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    """Validations since the best one."""
    finished: bool = False
    phase: int = 0
    began: int = 0
    """Steps taken before this phase."""
    cuts: int = 0
    """Validations of this phase at which a plateau lowered the learning rate."""
    cost: Meter = field(default_factory=Meter)

    @property
    def flops(self) -> float:
        """Floating-point operations of all steps so far."""
        return self.cost.flops


@dataclass
class RunningTotals:
    """Sums since the last record in metrics.jsonl."""

    total: float = 0.0
    plain: float = 0.0
    tokens: int = 0
    padded: int = 0
    cells: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, result: StepResult, batches: list[Batch]) -> None:
        """Count one step."""
        self.total += result.total
        self.plain += result.plain
        self.tokens += result.tokens
        for batch in batches:
            for side in (batch.source, batch.target):
                self.cells += side.mask.numel()
                self.padded += int((side.ids == PAD).sum())


class Trainer:
    """Trains a model until its budget is used, Ctrl-C asks it to stop, or dev stops getting better.

    A run that was stopped and resumed gives the weights of the unbroken one, bit for bit on one machine, where the budget
    is in steps or epochs; a budget in minutes depends on the clock.
    """

    def __init__(
        self,
        model: nn.Module,
        objectives: Objectives,
        stream: Stream,
        *,
        settings: OptimisationSettings,
        precision: PrecisionName,
        folder: Path,
        validate: Validate,
        listener: Listener,
    ) -> None:
        self.model = model
        self.objectives = objectives
        self.stream = stream
        self.settings = settings
        self.device = next(model.parameters()).device
        self.precision_name = precision
        self.precision = arithmetic(precision, self.device)
        self.products = getattr(torch, precision)
        self.folder = folder
        self.validate = validate
        self.listener = listener
        self.rates = dropout_rates(model)
        self.metrics = MetricsFile(folder / "metrics.jsonl")
        self.progress = Progress()
        self.stop_requested = False
        self._start_phase(0)

    def run(self) -> Progress:
        """Train to the end of the budget, or until `stop_requested`; save in either case."""
        self.model.train()
        window, saved = RunningTotals(), time.monotonic()
        while not self.progress.finished and not self.stop_requested:
            begin = time.monotonic()
            self._step(window)
            self.progress.seconds += time.monotonic() - begin
            self._check_budget()
            if self.progress.step % self.settings.log_every == 0:
                self._record(window)
                window = RunningTotals()
            ended = self.share() >= 1
            if ended or self.progress.step % self.settings.validate_every == 0:
                self._validate()
                window.began = time.monotonic()
                saved = time.monotonic()
                self.progress.finished = ended or self._out_of_patience()
                self.save()
            elif time.monotonic() - saved > 60 * self.settings.save_minutes:
                self.save()
                saved = time.monotonic()
        if self.stop_requested:
            self.save()
        return self.progress

    def share(self) -> float:
        """Return how much of the budget is used: the largest share of those given."""
        return min(max(self._shares().values()), 1.0)

    def _shares(self) -> dict[str, float]:
        """Return how much of each budget given is used; above 1 where a step went over it."""
        progress = self.progress
        used = {
            "steps": progress.step,
            "epochs": self.stream.epochs_done,
            "minutes": progress.seconds / 60,
            "tokens": progress.tokens,
            "flops": progress.flops,
        }
        budgets = {name: getattr(self.settings, name) for name in used}
        return {name: used[name] / budget for name, budget in budgets.items() if budget}

    def _check_budget(self) -> None:
        """Refuse a budget that ended inside the first step."""
        name, share = max(self._shares().items(), key=lambda item: item[1])
        if self.progress.step == 1 and share > 1:
            budget = getattr(self.settings, name)
            raise TrainingError(
                f"the budget `training.{name}: {budget:g}` is too small for one step, which takes {share * budget:.3g}; set a "
                f"larger training.{name}, or smaller steps with training.batch_tokens"
            )

    def save(self) -> None:
        """Write all that resuming needs into one file."""
        tensors = {f"model.{name}": tensor for name, tensor in own_tensors(self.model).items()}
        state = self.optimizer.state_dict()["state"]
        for index, entries in state.items():
            tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        about = {"progress": asdict(self.progress), "position": self.stream.position}
        save_tensors(self.folder / "training" / "last.safetensors", tensors, about)

    def restore(self) -> None:
        """Continue from what `save` wrote."""
        path = self.folder / "training" / "last.safetensors"
        tensors, about = load_tensors(path)
        fill(self.model, _part(tensors, "model."), path)
        try:
            self.progress = Progress(**{**about["progress"], "cost": Meter(**about["progress"].get("cost", {}))})
            self.stream.seek(about["position"])
        except (KeyError, TypeError):
            raise RunError(f"{path} says nothing of where training stood; train again") from None
        self._start_phase(self.progress.phase)
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _part(tensors, "optimizer.").items():
            index, key = name.split(".", 1)
            state.setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
        self.progress.finished = self.share() >= 1 or self._out_of_patience()
        self.metrics.truncate_after(self.progress.step)

    def _step(self, window: RunningTotals) -> None:
        """Gather batches, take one optimiser step, and tell the listener."""
        number, share = self.settings.phase_at(min(self.share(), LAST))
        if number != self.progress.phase:
            self._start_phase(number)
        at, batches = self.stream.position, self._gather()
        rate = learning_rate(
            self.now.schedule,
            self.progress.step + 1 - self.progress.began,
            share,
            peak=self.now.learning_rate,
            warmup=self.now.warmup,
            cuts=self.progress.cuts,
        )
        set_learning_rate(self.optimizer, rate)
        cells = sum(side.mask.numel() for batch in batches for side in (batch.source, batch.target))
        take = partial(
            train_step,
            self.model,
            self.objective,
            self.optimizer,
            batches=[batch.to(self.device) for batch in batches],
            clip=self.settings.clip,
            precision=self.precision,
        )
        try:
            result: StepResult = self.progress.cost.measure(cells, take)
        except NotFiniteError as error:
            raise TrainingError(self._divergence_message(error, at, batches)) from None
        self.progress.step += 1
        self.progress.tokens += result.tokens
        window.add(result, batches)
        self.listener.progress(self._numbers(window, rate))

    def _start_phase(self, number: int) -> None:
        """Begin a phase of training, or go on with it after a restart: its settings, optimiser, objective and dropout."""
        progress = self.progress
        if number != progress.phase:
            progress.phase, progress.began, progress.cuts = number, progress.step, 0
            progress.cost.restart()
        self.now = self.settings.in_phase(number)
        self.optimizer: Optimizer = build_optimizer(self.model, self.now, self.products)
        self.objective = self.objectives(self.now)
        switch_dropout(self.rates, on=number == 0 or self.settings.phases[number - 1].dropout)

    def _gather(self) -> list[Batch]:
        """Take batches until they hold the target tokens of one step; they stay on the CPU, where they can be counted."""
        batches = [next(self.stream)]
        wanted = self.settings.tokens_per_step
        while wanted and sum(len(batch.places) for batch in batches) < wanted:
            batches.append(next(self.stream))
        return batches

    def _divergence_message(self, error: NotFiniteError, at: Mapping[str, int], batches: list[Batch]) -> str:
        """Say where training broke and what is left."""
        shape = ", ".join(
            f"{b.source.ids.shape[0]} sentences of at most {b.target.ids.shape[1]} tokens" for b in batches
        )
        place = f"at step {self.progress.step + 1} (epoch {at['epoch']}, batch {at['index']}: {shape})"
        return f"{error} {place}; {self._recovery_hint()}"

    def _recovery_hint(self) -> str:
        """Say what is left of training that broke, and what to do."""
        saved = (self.folder / "training" / "last.safetensors").exists()
        kept = f"the last checkpoint in {self.folder} is kept" if saved else "no checkpoint was saved yet"
        return f"{kept}: lower training.learning_rate or training.clip, and go on with --resume"

    def _numbers(self, window: RunningTotals, rate: float) -> dict[str, Any]:
        """Return the numbers of the progress line."""
        tokens = max(window.tokens, 1)
        passed = max(time.monotonic() - window.began, 1e-9)
        share = self.share()
        plain = window.plain / tokens
        return {
            "step": self.progress.step,
            "epoch": round(self.stream.epochs_done, 3),
            "seconds": round(self.progress.seconds, 3),
            "tokens": self.progress.tokens,
            "flops": self.progress.flops,
            "loss": window.total / tokens,
            "perplexity": math.exp(min(plain, 50)),
            "learning_rate": rate,
            "tokens_per_second": window.tokens / passed,
            "padding": window.padded / max(window.cells, 1),
            "share": share,
            "seconds_left": self.progress.seconds * (1 - share) / share if share > 0.001 else None,
        }

    def _record(self, window: RunningTotals) -> None:
        """Write the window's numbers to metrics.jsonl."""
        record = self._numbers(window, self.optimizer.param_groups[0]["lr"])
        self.metrics.append(record)
        self.listener.record(record)

    def _validate(self) -> None:
        """Measure on dev, keep the weights, and note whether they are the best."""
        begin = time.monotonic()
        self.model.eval()
        scores = self._scores()
        self.model.train()
        value = scores["dev_bleu"] if self.settings.metric == "bleu" else -scores["dev_loss"]
        progress = self.progress
        better = progress.best is None or value > progress.best
        progress.stale = 0 if better else progress.stale + 1
        progress.cuts += not better and self.now.schedule == "plateau"
        if better:
            progress.best, progress.best_step = value, progress.step
            save_weights(self.folder / "model.safetensors", self.model, {"step": progress.step, **scores})
        self._keep_weights()
        progress.seconds += time.monotonic() - begin
        spent = {"seconds": round(progress.seconds, 3), "tokens": progress.tokens, "flops": progress.flops}
        record = {"step": progress.step, **spent, **scores, "best": better}
        self.metrics.append(record)
        self.listener.record(record)

    def _scores(self) -> dict[str, Any]:
        """Validate. TrainingError where the weights that the last step left give nothing that can be measured."""
        try:
            scores = dict(self.validate(self.model))
        except RunError:
            scores = {"dev_loss": math.nan}
        if not math.isfinite(scores["dev_loss"]):
            raise TrainingError(
                f"the model's probabilities on dev are not numbers after step {self.progress.step}; {self._recovery_hint()}"
            )
        return scores

    def _keep_weights(self) -> None:
        """Write the weights for averaging, and delete the oldest beyond `keep`."""
        if not self.settings.kept_weights:
            return
        folder = self.folder / "checkpoints"
        save_weights(folder / f"step-{self.progress.step:08d}.safetensors", self.model, {"step": self.progress.step})
        for old in sorted(folder.glob("step-*.safetensors"))[: -self.settings.kept_weights]:
            old.unlink()

    def _out_of_patience(self) -> bool:
        """Tell whether dev has not got better for `patience` validations."""
        patience = self.settings.patience
        if patience is None or self.progress.stale < patience:
            return False
        self.listener.say(
            f"Stopped early: {patience} validations without a better dev {self.settings.metric} than at step "
            f"{self.progress.best_step}."
        )
        return True


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose name begins with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
