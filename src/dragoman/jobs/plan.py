"""What a training will take, before it is run: parameters, memory, FLOPs, speed, steps, time and disk.

Everything is prepared as for training, in a temporary folder, and the real trainer takes some steps on real batches. What it does
not take is extrapolated: a whole epoch from its number of tokens, padding included, and validations from a sample of dev.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from dragoman.data.stream import BatchStream, EpochOutline
from dragoman.interfaces import Batch
from dragoman.jobs.auto import settle
from dragoman.jobs.checks import check_corpora, check_machine, check_recipe, check_rerank, check_tied
from dragoman.jobs.memory import Outline, StaticMemory, saved_bytes, static_memory
from dragoman.jobs.prepare import learn_both, prepare
from dragoman.jobs.train import assemble, with_choices
from dragoman.jobs.validation import dev_pairs, untrained
from dragoman.jobs.workload import Choice
from dragoman.machine.devices import choose_device, peak_memory
from dragoman.machine.memory import free_memory, resident_memory
from dragoman.machine.onednn import bound_caches
from dragoman.machine.processes import for_one_process
from dragoman.machine.provenance import machine
from dragoman.machine.threads import threads_restored
from dragoman.runs.folder import Run
from dragoman.runs.recipe import Recipe
from dragoman.training.checkpoint import own_tensors
from dragoman.training.contracts import Listener
from dragoman.training.masking import MASK_RATE, MaskingStream
from dragoman.training.reports import Silent
from dragoman.training.selection import measure
from dragoman.training.session import train_for_a_session
from dragoman.training.settings import OptimisationSettings
from dragoman.training.trainer import Trainer

SECONDS = 20.0
"""Seconds after which the probe ends with the step that it is in."""
WARM = 3
"""Steps at the beginning that are not timed: in the first two FLOPs are counted, and memory is new to the process."""
DEV = 200
"""Dev sentences on which a validation is timed."""


@dataclass(frozen=True)
class Epoch:
    """The size of one pass over the corpus."""

    pairs: int
    tokens: int
    """Target tokens, with </s>; of a masked language model about as many as it predicts."""
    batches: int


@dataclass(frozen=True)
class Probe:
    """What was measured in a few real steps."""

    steps: int
    """Steps that were timed."""
    threads: int
    replicas: int
    precision: str
    steps_per_epoch: float
    seconds_per_step: float
    """Mean over an epoch."""
    tokens_per_second: float
    """Target tokens."""
    flops_per_epoch: float
    validation_seconds: float
    """Of one validation."""
    peak_memory: int | None
    """Bytes: of this process, or of torch on a GPU; the largest batch was among the steps."""
    activations: int | None
    """Bytes that the largest batch keeps for its backward pass; None if it had to be computed in parts."""


@dataclass(frozen=True)
class Work:
    """What the budget allows: at most this, where `training.patience` may end a training early."""

    steps: int
    epochs: float
    limited_by: str
    """The budget that is used up first."""
    validations: int
    seconds: float | None
    """Time of steps and validations; None if nothing was measured."""


@dataclass(frozen=True)
class Disk:
    """Bytes on disk at the end; while a file is replaced, its old and its new content are there."""

    weights: int
    """The best weights."""
    kept: int
    """The weights of the last validations (`training.keep`)."""
    resume: int
    """What resuming needs."""
    other: int
    """Vocabularies, recipe, manifest."""
    store: int
    """The encoded corpus, which the runs of a folder share."""

    @property
    def total(self) -> int:
        """Return the sum."""
        return self.weights + self.kept + self.resume + self.other + self.store


@dataclass(frozen=True)
class Plan:
    """What a training will take."""

    recipe: Recipe
    """With a value for everything that was `auto`."""
    machine: str
    device: str
    chosen: tuple[Choice, ...]
    """What `auto` has chosen, with reasons."""
    parameters: Mapping[str, int]
    """By part of the model; a tensor that parts share is counted once."""
    trained_parameters: int
    memory: StaticMemory
    process: int | None
    """Bytes of this process before the model is built; None on a GPU, where they are not taken from its memory."""
    free_memory: int | None
    epoch: Epoch
    probe: Probe | None
    work: Work | None
    """None if the budgets are times or FLOPs, and nothing was measured."""
    disk: Disk

    @property
    def estimated_memory(self) -> int | None:
        """Return the peak of memory in bytes: measured, if a probe has; otherwise what is known of it, without batches."""
        if self.probe is not None and self.probe.peak_memory is not None:
            return self.probe.peak_memory
        return self.memory.total + (self.process or 0)


@for_one_process
def make_plan(recipe: Recipe, *, probe: bool = True, listener: Listener | None = None) -> Plan:
    """Plan the training of `recipe`; with `probe`, the trainer takes real steps for about 20 seconds.

    Nothing is left on disk; torch's random state changes. Raises what training would raise before its first step, and
    KeyboardInterrupt if a signal asks to stop.
    """
    listener = listener or Silent()
    bound_caches(os.environ)
    device = choose_device(recipe.training.device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    chosen: tuple[Choice, ...] = ()
    codecs = None
    if recipe.auto:
        check_recipe(recipe)
        check_corpora(recipe)
        check_tied(recipe)
        check_rerank(recipe)
        check_machine(recipe, device)
        settled = settle(recipe, partial(learn_both, listener=listener), device=device, say=lambda _: None)
        recipe, codecs, chosen = settled.recipe, settled.codecs, settled.choices
    check_machine(recipe, device)
    free = free_memory(device.type)
    with TemporaryDirectory(prefix="dragoman-plan-") as folder, threads_restored():
        run = prepare(recipe, Path(folder) / "run", listener, codecs=codecs, lasts=False)
        process = resident_memory() if device.type == "cpu" else None
        trainer = assemble(_for_probe(run), listener, resuming=False)
        try:
            run = with_choices(run, trainer, {})
            run.save()
            plan = _without_probe(run, trainer, chosen=chosen, process=process, free=free)
            return _probed(plan, trainer) if probe else plan
        finally:
            trainer.stream.close()
            if trainer.replicas is not None:
                trainer.replicas.close()


def work_within(training: OptimisationSettings, epoch: Epoch, probe: Probe | None) -> Work | None:
    """Return what the budgets allow, of which those in minutes and FLOPs need a probe; None if there are no others."""
    wanted = training.tokens_per_step
    together = 1 if wanted is None else math.ceil(wanted * epoch.batches / max(epoch.tokens, 1))
    steps = epoch.batches / together if probe is None else probe.steps_per_epoch
    used = {"steps": 1.0, "epochs": 1 / steps, "tokens": epoch.tokens / steps}
    if probe is not None:
        used["flops"] = probe.flops_per_epoch / steps
        used["minutes"] = (probe.seconds_per_step + probe.validation_seconds / training.validate_every) / 60
    budgets = {name: getattr(training, name) for name in used}
    allowed = {name: budget / used[name] for name, budget in budgets.items() if budget is not None and used[name]}
    if not allowed:
        return None
    limited_by = min(allowed, key=lambda name: allowed[name])
    count = max(math.ceil(allowed[limited_by] - 1e-6), 1)
    validations = math.ceil(count / training.validate_every)
    seconds = None if probe is None else count * probe.seconds_per_step + validations * probe.validation_seconds
    return Work(count, count / steps, limited_by, validations, seconds)


class ProbeStream(Iterator[Batch]):
    """The batches of a stream, with the largest one first and third; how much was given out is counted."""

    def __init__(self, stream: BatchStream) -> None:
        self.stream = stream
        self.outline: EpochOutline = stream.outline()
        self.batches = 0
        self.cells = 0

    def __next__(self) -> Batch:
        self.batches += 1
        batch = self.outline.largest if self.batches in (1, 3) else next(self.stream)
        self.cells += batch.source.mask.numel() + batch.target.mask.numel()
        return batch

    @property
    def position(self) -> dict[str, int]:
        """Return the position of the next batch."""
        return self.stream.position

    @property
    def epochs_done(self) -> float:
        """Return the number of passes over the corpus so far."""
        return self.stream.epochs_done

    def seek(self, position: dict[str, Any]) -> None:
        """Move to a position."""
        self.stream.seek(position)

    def close(self) -> None:
        """Stop preparing batches in the background."""
        self.stream.close()


class Stopwatch(Silent):
    """Notes when each step ends and how much was read until then, and asks the trainer to stop after a while."""

    def __init__(self, trainer: Trainer, stream: ProbeStream, seconds: float) -> None:
        self.trainer = trainer
        self.stream = stream
        self.seconds = seconds
        self.inner = trainer.listener
        self.began = time.perf_counter()
        self.laps: list[tuple[float, int]] = [(self.began, 0)]

    def progress(self, record: Mapping[str, Any]) -> None:
        """Note the end of a step."""
        now = time.perf_counter()
        self.laps.append((now, self.stream.cells))
        if now - self.began > self.seconds and len(self.laps) > WARM + 1:
            self.trainer.stop_requested = True

    def say(self, sentence: str) -> None:
        """Forward a message."""
        self.inner.say(sentence)

    @property
    def timed(self) -> int:
        """Return the number of steps that count: all, where there are no more than those that should not."""
        return len(self.laps) - 1 - (WARM if len(self.laps) > WARM + 1 else 0)

    @property
    def seconds_per_cell(self) -> float:
        """Return the time of the timed steps, divided by their tokens on both sides, padding included."""
        (began, before), (ended, after) = self.laps[-1 - self.timed], self.laps[-1]
        return (ended - began) / (after - before)


def _for_probe(run: Run) -> Run:
    """Return a run whose trainer does nothing but steps, and validates on few sentences."""
    training = run.recipe.training
    changes = {
        "validate_every": 10**9,
        "validate_sentences": min(training.validate_sentences, DEV),
        "save_minutes": 10**9,
        "tensorboard": False,
    }
    return replace(run, recipe=run.recipe.model_copy(update={"training": training.model_copy(update=changes)}))


def _without_probe(
    run: Run, trainer: Trainer, *, chosen: tuple[Choice, ...], process: int | None, free: int | None
) -> Plan:
    """Say what is known before the first step."""
    recipe, trained = run.recipe, trainer.trained
    count = 1 if trainer.replicas is None else trainer.replicas.count
    memory = static_memory(Outline(trainer.model, trained), recipe.training, count)
    stream = _batches_of(trainer)
    outline = stream.outline()
    tokens = outline.tokens
    if isinstance(trainer.stream, MaskingStream):  # where no </s> is masked
        tokens = MASK_RATE * (tokens - len(stream.store))
    epoch = Epoch(len(stream.store), round(tokens), round(outline.batches))
    weights = sum(tensor.nbytes for tensor in own_tensors(trained).values())
    return Plan(
        recipe=recipe,
        machine=machine(),
        device=trainer.device.type,
        chosen=chosen,
        parameters=parameters_of(trainer.model, trained),
        trained_parameters=sum(weight.numel() for weight in trained.parameters() if weight.requires_grad),
        memory=memory,
        process=process,
        free_memory=free,
        epoch=epoch,
        probe=None,
        work=work_within(recipe.training, epoch, None),
        disk=Disk(
            weights=weights,
            kept=weights * recipe.training.kept_weights,
            resume=weights + memory.optimizer + memory.average,
            other=_size(run.folder),
            store=_size(run.folder.parent / ".cache"),
        ),
    )


def parameters_of(model: nn.Module, trained: nn.Module) -> dict[str, int]:
    """Return the number of parameters of each part of a model, such as `encoder.layers`, and of its adapters."""
    parts: Counter[str] = Counter()
    for name, weight in model.named_parameters():
        parts[".".join(name.split(".")[:2])] += weight.numel()
    if trained is not model:
        parts["adapters"] = sum(weight.numel() for weight in trained.parameters())
    return dict(parts)


def _batches_of(trainer: Trainer) -> BatchStream:
    """Return the stream of batches, before anything is masked in them."""
    stream = getattr(trainer.stream, "stream", trainer.stream)
    assert isinstance(stream, BatchStream)
    return stream


def _probed(plan: Plan, trainer: Trainer) -> Plan:
    """Take real steps for a while, and say what follows from them."""
    stream = ProbeStream(_batches_of(trainer))
    if isinstance(trainer.stream, BatchStream):
        trainer.stream = stream
    else:
        trainer.stream.stream = stream  # type: ignore[attr-defined]  # a MaskingStream
    trainer.listener = watch = Stopwatch(trainer, stream, SECONDS)
    watch.inner.say(f"Taking steps for about {SECONDS:.0f} seconds to see how long they take.")
    progress = train_for_a_session(trainer, seed=plan.recipe.seed, resuming=False)
    if progress.stopped_by:
        raise KeyboardInterrupt
    validation_seconds = _validation_seconds(plan.recipe, trainer)
    peak = peak_memory(trainer.device)
    seconds = watch.seconds_per_cell * stream.outline.cells
    steps = stream.outline.batches * progress.step / stream.batches
    probe = Probe(
        steps=watch.timed,
        threads=torch.get_num_threads(),
        replicas=1 if trainer.replicas is None else trainer.replicas.count,
        precision=trainer.precision_name,
        steps_per_epoch=steps,
        seconds_per_step=seconds / steps,
        tokens_per_second=plan.epoch.tokens / seconds,
        flops_per_epoch=progress.flops / stream.cells * stream.outline.cells,
        validation_seconds=validation_seconds,
        peak_memory=peak,
        activations=None if trainer.splitter.too_large else _activations(trainer, stream),
    )
    return replace(plan, probe=probe, work=work_within(plan.recipe.training, plan.epoch, probe))


def _validation_seconds(recipe: Recipe, trainer: Trainer) -> float:
    """Return how long a validation takes, from one on fewer sentences."""
    sentences = len(dev_pairs(recipe))
    validate = untrained(trainer.validate)  # type: ignore[arg-type]  # what `assemble` has built
    begin = time.perf_counter()
    measure(validate, trainer.model)
    return (time.perf_counter() - begin) * sentences / min(sentences, DEV)


def _activations(trainer: Trainer, stream: ProbeStream) -> int:
    """Return the bytes that the largest batch keeps for its backward pass."""
    stream.batches = 0  # the largest is the first again
    batch = next(trainer.stream).to(trainer.device)
    with trainer.precision:
        return saved_bytes(partial(trainer.objective, trainer.model, batch), trainer.model.parameters())


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
