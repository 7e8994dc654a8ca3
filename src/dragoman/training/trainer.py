"""The training loop: take batches, step, report; periodically validate and save.

On a CPU, copies of the model may share a batch (`replicas.py`). Several processes may run this loop together (`world.py`): each
computes its share of every step, and the first one watches the clock, validates and writes. They may divide the weights
among themselves (`shards.py`).
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch
from dragoman.layers.adapters import Adapters
from dragoman.layers.dropout import dropout_rates, switch_dropout
from dragoman.machine.precision import PrecisionName, arithmetic, dtype_of
from dragoman.training.budgets import BUDGETS, check_first_step, shares
from dragoman.training.contracts import Listener, Objectives, Stream, Validate
from dragoman.training.ema import WeightAverage
from dragoman.training.files import RunFiles
from dragoman.training.optimizers import build_optimizer, check_none_is_new, set_learning_rate
from dragoman.training.progress import Progress, RunningTotals
from dragoman.training.replicas import Replicas, parts_of
from dragoman.training.selection import measure, out_of_patience, recover_best, select
from dragoman.training.settings import OptimisationSettings
from dragoman.training.shards import Shards
from dragoman.training.splitting import DIVIDED, Splitter
from dragoman.training.state import load_state, part_of, restore_optimizer, restore_random_state, save_state
from dragoman.training.step import (
    Compute,
    NotFiniteError,
    StepResult,
    describe,
    gather,
    target_tokens,
    train_step,
)
from dragoman.training.world import ALONE, World

LAST = 1 - 1e-9
"""The largest used share of the budget at which a step may still be taken."""


class ValidationInterrupt(BaseException):
    """A signal has interrupted a validation, which a resumed run does first."""


class Trainer:
    """Train a model until its budget is used up, a signal asks to stop, or dev no longer improves.

    A run that was stopped and resumed gives the same weights as an uninterrupted one, bit for bit on one machine, if the
    budget is in steps or epochs; a budget in minutes depends on the clock.
    """

    def __init__(
        self,
        model: nn.Module,
        objectives: Objectives,
        stream: Stream,
        *,
        settings: OptimisationSettings,
        precision: PrecisionName,
        files: RunFiles,
        validate: Validate,
        listener: Listener,
    ) -> None:
        self.model = model
        self.objectives = objectives
        self.stream = stream
        self.settings = settings
        self.budgets = {name: getattr(settings, name) for name in BUDGETS}
        self.known = frozenset(name for name, _ in model.named_parameters())
        self.device = next(model.parameters()).device
        self.precision_name = precision
        self.precision = arithmetic(precision, self.device)
        self.replicas: Replicas | None = None
        self.adapters: Adapters | None = None
        self.files = files
        self.validate = validate
        self.listener = listener
        self.world = ALONE
        self.divides: bool | None = None
        self.shards: Shards | None = None
        self.splitter = Splitter(lambda sentence: self.listener.say(sentence))
        self.rates = dropout_rates(model)
        self.average = self._average_of(model)
        self.metrics = files.metrics
        self.progress = Progress()
        self.stop_requested = False
        self.stop_agreed = False
        self.saved, self.save_due = time.monotonic(), False
        self.validating = False
        self._start_phase(0)

    def run(self) -> Progress:
        """Train to the end of the budget, or until `stop_requested`; save in either case."""
        self._divide()
        self._computing.train()
        totals, self.saved = RunningTotals(), time.monotonic()
        while not self.progress.finished and not self.stopping:
            if not self.progress.due:
                begin = time.monotonic()
                self._step(totals)
                self.progress.seconds += time.monotonic() - begin
                self._meet()
                if self.progress.step == 1:
                    check_first_step(self.budgets, self._used())
                    check_none_is_new(self.model, self.known)
                if self.progress.step % self.settings.log_every == 0:
                    self._record(self._numbers(totals, self.optimizer.param_groups[0]["lr"]))
                    totals = RunningTotals()
            if self.share() >= 1 or self.progress.due or self.progress.step % self.settings.validate_every == 0:
                paused, self.progress.due = time.monotonic(), True
                try:
                    self._validate()
                except ValidationInterrupt:
                    break
                self.saved = time.monotonic()
                totals.began += self.saved - paused
                self.progress.due = False
                # The validation itself may have used up a budget in minutes; all processes know that from the first.
                self.progress.finished = self.share() >= 1 or out_of_patience(
                    self.progress, self.settings, say=self.listener.say
                )
                self.save()
            elif self.save_due:
                self.save()
                self.saved = time.monotonic()
        if self.stopping:
            self.save()
        if self.shards is not None:
            self.shards.fill(keep=self.world.is_first)
        return self.progress

    def join(self, world: World, *, divided_by_blocks: bool | None = None) -> None:
        """Train together with other processes, in which everything is as it is here.

        Unless `divided_by_blocks` is None, the weights are divided among them until training ends; then the first has them all
        again. Blocks of a Transformer are gathered one after the other then, if it is true.
        """
        self.world = world
        self.divides = divided_by_blocks
        if divided_by_blocks is not None:
            self.splitter.whole = DIVIDED

    def use_replicas(self, count: int) -> None:
        """Compute each batch with the model and copies of it, `count` together, which share torch's threads."""
        precision = partial(arithmetic, self.precision_name, self.device)
        self.replicas = Replicas(self.model, count, threads=torch.get_num_threads(), precision=precision)

    def use_adapters(self, adapters: Adapters) -> None:
        """Train adapters of the model, which must not have been trained yet, in place of its own weights."""
        self.adapters = adapters
        self.average = self._average_of(adapters)
        self._start_phase(0)

    @property
    def stopping(self) -> bool:
        """Tell whether training stops before the next step, in all processes."""
        return self.stop_requested if self.world.size == 1 else self.stop_agreed

    @property
    def _computing(self) -> nn.Module:
        """Return the model that computes steps, which has the weights unless adapters do."""
        return self.model if self.shards is None else self.shards.model

    @property
    def trained(self) -> nn.Module:
        """Return what is trained, saved and averaged: the model, or its adapters."""
        return self.model if self.adapters is None else self.adapters

    @property
    def _held(self) -> nn.Module:
        """Return what this process holds of what is trained: all of it, or its share."""
        return self.trained if self.shards is None else self.shards.model

    def _average_of(self, trained: nn.Module) -> WeightAverage | None:
        """Return the average of weights, if it is wanted."""
        return WeightAverage(trained, self.settings.ema) if self.settings.ema else None

    def share(self) -> float:
        """Return how much of the budget is used: the largest share of those given."""
        return min(max(shares(self.budgets, self._used()).values()), 1.0)

    def spent(self) -> str | None:
        """Return the budget that is used up, if one is."""
        name, share = max(shares(self.budgets, self._used()).items(), key=lambda item: item[1])
        return name if share >= 1 else None

    def save(self) -> None:
        """Write everything needed to resume into one file; all processes call this."""
        if not self.world.is_first and self.shards is None:
            return
        save_state(
            self.files,
            self._held,
            self.optimizer,
            progress=self.progress,
            stream=self.stream,
            average=self.average,
            writes=self.world.is_first,
        )

    def restore(self) -> None:
        """Restore what `save` wrote. Raises RunError if it or the best weights are missing, damaged or from another run."""
        self.progress, tensors = load_state(self.files, self.trained, self.stream)
        self._divide()
        self._start_phase(self.progress.phase)
        restore_optimizer(self.optimizer, tensors, self.files.last)
        restore_random_state(tensors, self.device)
        if self.average is not None:
            self.average.restore(part_of(tensors, "average."), self.files.last)
        self.progress.finished = not self.progress.due and (
            self.share() >= 1 or out_of_patience(self.progress, self.settings, say=self.listener.say)
        )
        if self.world.is_first:
            if self.share() >= 1 and not self.metrics.validated(self.progress.step):  # the budget was lowered
                self.progress.due, self.progress.finished = True, False
            self._recover()
        self._tell()

    def _recover(self) -> None:
        """Look, before going on, whether the best weights and the records are whole, and mend what can be mended."""
        replaced = recover_best(self.files, self.trained, self.progress)
        if self.metrics.changed():
            self.listener.say(f"{self.metrics.path} is damaged; what can be read of it is kept.")
        if damaged := self.metrics.truncate_after(self.progress.step):
            self.listener.say(f"{damaged} damaged lines of {self.metrics.path} were dropped.")
        if replaced is not None:
            self.listener.say(replaced)
            if self.progress.best is None and not self.progress.due:
                if self.shards is None:
                    self._judge()
                else:  # all processes begin with it
                    self.progress.due, self.progress.finished = True, False

    def _divide(self) -> None:
        """Divide weights, their average and the optimiser's state among the processes, if that is wanted."""
        if self.divides is None or self.shards is not None:
            return
        self.shards = Shards(self.model, by_blocks=self.divides)
        self.rates = dropout_rates(self.shards.model)
        self.average = self._average_of(self.shards.model)
        self._start_phase(self.progress.phase)

    def _used(self) -> dict[str, int | float]:
        """Return the amount used of each budget."""
        return self.progress.used(self.stream.epochs_done)

    def _step(self, totals: RunningTotals) -> None:
        """Gather batches, take one optimiser step, and notify the listener."""
        phase, share = self.settings.phase_at(min(self.share(), LAST))
        if phase != self.progress.phase:
            self._start_phase(phase)
        position, batches = self.stream.position, gather(self.stream, self.settings.tokens_per_step)
        rate = self.progress.next_rate(self.now, share)
        set_learning_rate(self.optimizer, rate)
        self.world.draw_differently(self.progress.step)
        cells = sum(side.mask.numel() for batch in batches for side in (batch.source, batch.target))
        tokens, own = target_tokens(batches), self.world.share(batches)
        step = partial(
            train_step,
            self._computing,
            self.objective if self.shards is None else self.shards.computing(self.objective),
            self.optimizer,
            clip=self.settings.clip,
            compute=Compute(self.precision, self.replicas, self.adapters, self.world, self._idle(batches, len(own))),
        )

        def take(parts: list[Batch]) -> StepResult:
            return step(batches=[part.to(self.device) for part in parts], tokens=tokens)

        try:
            result: StepResult = self.progress.cost.measure(
                cells, lambda: self.splitter.take(take, own), total=self.world.total
            )
        except NotFiniteError as error:
            at = f"epoch {position['epoch']}, batch {position['index']}: {describe(batches)}"
            message = f"{error} at step {self.progress.step + 1} ({at}); {self.files.recovery_hint()}"
            raise TrainingError(message) from None
        self.progress.step += 1
        self.progress.tokens += result.tokens
        if self.average is not None:
            self.average.follow(self.progress.step)
        totals.add(result, batches)
        self.listener.progress(self._numbers(totals, rate))

    def _idle(self, batches: Sequence[Batch], own: int) -> list[Batch]:
        """Return what this process computes for nothing, to take part in each exchange of a step: as little as can be."""
        if self.shards is None or own == self.world.turns(batches):
            return []
        row = parts_of(batches[0], len(batches[0].source.ids))[0]
        return [row.to(self.device)] * (self.world.turns(batches) - own)

    def _start_phase(self, number: int) -> None:
        """Start a phase of training, or continue it after a restart: its settings, optimiser, objective and dropout."""
        progress = self.progress
        if number != progress.phase:
            progress.phase, progress.began, progress.cuts = number, progress.step, 0
            progress.cost.restart()
        self.now = self.settings.in_phase(number)
        self.optimizer: Optimizer = build_optimizer(self._held, self.now, dtype_of(self.precision_name))
        self.objective = self.objectives(self.now)
        switch_dropout(self.rates, on=number == 0 or self.settings.phases[number - 1].dropout)

    def _numbers(self, totals: RunningTotals, rate: float) -> dict[str, Any]:
        """Return the numbers of the progress line."""
        return totals.record(self.progress, epochs=self.stream.epochs_done, share=self.share(), learning_rate=rate)

    def _record(self, record: Mapping[str, Any]) -> None:
        """Write a record to metrics.jsonl, and notify the listener."""
        if not self.world.is_first:
            return
        self.files.check_ours()
        self.metrics.append(record)
        self.listener.record(record)

    def _meet(self) -> None:
        """Agree with the other processes on the time, which is the first one's, and on whether to save and to stop."""
        self.save_due = time.monotonic() - self.saved > 60 * self.settings.save_minutes
        if self.world.size > 1:
            own = [self.progress.seconds, float(self.save_due)] if self.world.is_first else [0.0, 0.0]
            self.progress.seconds, due, asked = self.world.sum([*own, float(self.stop_requested)])
            self.save_due, self.stop_agreed = due > 0, asked > 0

    def _tell(self, *, interrupted: bool = False) -> None:
        """Give the progress of the first process to the others; ValidationInterrupt in all if its validation was interrupted."""
        table = self.world.agree(None if interrupted else self.progress.to_json())
        if table is None:
            self.stop_agreed = True
            raise ValidationInterrupt
        if not self.world.is_first:
            self.progress = Progress.from_json(table)

    def _validate(self) -> None:
        """Measure on dev and keep the weights, or their average if there is one: the first process does, the others wait."""
        first, interrupted = self.world.is_first, False
        with nullcontext() if self.shards is None else self.shards.whole_again(self._averages(), keep=first):
            if first:
                try:
                    self._judge()
                except ValidationInterrupt:
                    interrupted = True
        self._tell(interrupted=interrupted)

    def _averages(self) -> Mapping[str, Tensor] | None:
        """Return the moving average of the weights, if there is one."""
        return None if self.average is None else self.average.averages

    def _judge(self) -> None:
        """Measure on dev and keep the weights, or their average if there is one."""
        begin = time.monotonic()
        with nullcontext() if self.average is None or self.shards is not None else self.average.in_use():
            try:
                self.validating = True
                scores = measure(self.validate, self.model)
            except TrainingError as error:
                raise TrainingError(f"{error} after step {self.progress.step}; {self.files.recovery_hint()}") from None
            finally:
                self.validating = False
            better = select(self.files, self.trained, scores, progress=self.progress, settings=self.now)
        self.progress.seconds += time.monotonic() - begin
        self._record({"step": self.progress.step, **self.progress.costs(), **scores, "best": better})
