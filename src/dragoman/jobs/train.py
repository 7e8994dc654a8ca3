"""The whole job of training: from a recipe and a folder to a finished run."""

import math
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import torch
from torch import nn

from dragoman.attention.packed import kernel_works
from dragoman.data.encode import Encoders
from dragoman.data.sampling import dropout_of
from dragoman.data.store import build_store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.errors import SettingsError, TrainingError
from dragoman.jobs.checks import (
    check_corpus,
    check_machine,
    check_shared,
)
from dragoman.jobs.lexicon_start import start_from_lexicon
from dragoman.jobs.parts import replica_count, same_passes, splittable
from dragoman.jobs.prepare import prepare, reopen
from dragoman.jobs.validation import build_validation
from dragoman.layers.adapters import Adapters
from dragoman.layers.embedding import freeze_embeddings
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.machine.cores import usable_cores
from dragoman.machine.devices import choose_device, peak_memory
from dragoman.machine.onednn import bound_caches
from dragoman.machine.precision import choose_training_precision, dtype_of, width_of
from dragoman.machine.processes import launch_of, restarts
from dragoman.machine.threads import threads_restored
from dragoman.machine.torch_state import random_numbers_restored, usual_torch
from dragoman.models.build import Model
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import Run, open_run, read_manifest
from dragoman.runs.lock import run_lock
from dragoman.runs.recipe import Recipe
from dragoman.runs.warm_start import start
from dragoman.text.codec import Codec
from dragoman.text.settings import target_sampling
from dragoman.training.checkpoint import average, fill, load_weights
from dragoman.training.compiling import Compiled
from dragoman.training.contracts import Listener, Objective, Objectives, Stream
from dragoman.training.flops import estimate, sustained_rate
from dragoman.training.masking import MaskingStream, masked_loss
from dragoman.training.native import native_loops, native_loss, prepare_segmentation
from dragoman.training.objectives import build_objective
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent
from dragoman.training.selection import check_learned, is_better, note_kept
from dragoman.training.session import train_for_a_session
from dragoman.training.settings import TrainingSettings
from dragoman.training.splitting import DEPENDS
from dragoman.training.state import save_progress
from dragoman.training.threads import probe_threads
from dragoman.training.trainer import Trainer
from dragoman.training.world import World, joined


def fit(
    recipe: Recipe,
    folder: str | Path,
    *,
    resume: bool = False,
    listener: Listener | None = None,
    codecs: tuple[Codec, Codec] | None = None,
    about: Mapping[str, Any] | None = None,
    encoders: Encoders | None = None,
) -> Progress:
    """Train the model of `recipe` into the run `folder`, or resume the run in it.

    A new run learns its codecs, unless they are given; `about` goes into its manifest. `encoders` encode a large corpus: as
    many processes as there are cores that this one may use, unless given.

    Ctrl-C, SIGTERM and SIGHUP save and return. A resumed run keeps its recipe, except for what `training/resuming.py` lists.
    Nothing is written to the folder until everything that training needs has been checked. Raises RunError if the folder
    already contains a run and `resume` is false, or another process is training into it; TrainingError if training diverged.

    The environment of the process gets the sizes of two caches, unless it has them (`machine/onednn.py`).

    Processes that `torchrun` started train together: all call this with the same arguments and a folder that all of them see,
    and the first prepares and writes the run. Where torchrun started them again, they resume.
    """
    if not isinstance(recipe, Recipe):
        raise SettingsError(f"{shortened(recipe)} is not a recipe; give `dragoman.load_recipe(NAME)`")
    folder, device = Path(folder), choose_device(recipe.training.device)
    bound_caches(os.environ)
    with (
        joined(device, seed=recipe.seed) as world,
        threads_restored(),
        usual_torch(),
        random_numbers_restored(device),
    ):
        if not world.is_first:
            return _take_part(folder, world)
        return _lead(
            recipe,
            folder,
            world,
            resume=resume,
            listener=listener or Silent(),
            codecs=codecs,
            about=about,
            encoders=encoders,
        )


def _goes_on(folder: Path) -> bool:
    """Tell whether a folder holds the run that this launch of torchrun or Ray began, not one that was there before."""
    if not (folder / "manifest.json").exists():
        return False
    launch = launch_of()
    return restarts() > 0 if launch is None else read_manifest(folder).get("launch") == launch


def _lead(
    recipe: Recipe,
    folder: Path,
    world: World,
    *,
    resume: bool,
    listener: Listener,
    codecs: tuple[Codec, Codec] | None,
    about: Mapping[str, Any] | None,
    encoders: Encoders | None,
) -> Progress:
    """Do what `fit` says, as the only process or the first of several."""
    device = choose_device(recipe.training.device)
    with ExitStack() as until_the_end:
        with world.warned_of_failure():
            restarted = _goes_on(folder)
            known = (resume or restarted) and folder.exists()
            check_machine(recipe, device, world.size)
            # The first process may have been on a machine that is lost; its lock outlives it for a while.
            lock = until_the_end.enter_context(run_lock(folder, lost=listener.say if restarted or restarts() else None))
            run = reopen(recipe, folder, listener) if known else prepare(recipe, folder, listener, codecs=codecs)
            check_shared(run.recipe, world.size, begun=known)
            if recipe.auto:
                check_machine(run.recipe, device, world.size)
            resuming = known and run.files.resumable()
            trainer = assemble(run, listener, resuming=resuming, encoders=encoders)
            trainer.files = replace(trainer.files, check_ours=lock.check)
            run = with_choices(run, trainer, {**(about or {}), **({"launch": launch_of()} if launch_of() else {})})
            run.save()
        world.agree(resuming)
        _join(trainer, run, world)
        progress = train_for_a_session(trainer, seed=recipe.seed, resuming=resuming)
        _conclude(run, trainer)
    return progress


def _take_part(folder: Path, world: World) -> Progress:
    """Train together with the first process, once it has written the run."""
    resuming = world.agree()
    if resuming is None:
        raise TrainingError("the first process could not begin this training; see what it says")
    run = open_run(folder)
    trainer = assemble(run, Silent(), resuming=resuming)
    _join(trainer, run, world)
    return train_for_a_session(trainer, seed=run.recipe.seed, resuming=resuming)


def _join(trainer: Trainer, run: Run, world: World) -> None:
    """Let a trainer work with those of the other processes, from the weights of the first."""
    world.copy_weights(trainer.model)
    world.copy_weights(trainer.trained)
    recipe, world = run.recipe, replace(world, by_rows=splittable(run.recipe))
    several = recipe.training.shard and world.size > 1
    if world.by_rows and isinstance(trainer.stream, BatchStream):
        trainer.stream.read_part(world.rank, world.size)
    trainer.join(world, divided_by_blocks=same_passes(recipe) if several else None)


def _conclude(run: Run, trainer: Trainer) -> None:
    """Record the cost of training; if it has finished, try the average of the last weights and check the loss."""
    _record_cost(run, trainer)
    if trainer.progress.finished:
        if run.recipe.training.average > 1:
            _try_average(run, trainer, run.recipe.training.average)
        check_learned(trainer.metrics, math.log(len(run.target)), say=trainer.listener.say)
        trainer.metrics.record()
    trainer.listener.close()


def assemble(run: Run, listener: Listener, *, resuming: bool, encoders: Encoders | None = None) -> Trainer:
    """Build the model, encode the corpus, and assemble the trainer; a new run gets its initial weights."""
    recipe = run.recipe
    device = choose_device(recipe.training.device)
    torch.set_num_threads(recipe.training.threads or run.manifest.get("threads") or torch.get_num_threads())
    model, settings = run.fresh_model(), getattr(recipe.model, "adapters", None)
    if not resuming or settings is not None:  # a checkpoint of adapters does not hold the weights of their base
        start(run, model)
    model = model.to(device)
    adapters = None if settings is None else Adapters(model, settings)
    if recipe.training.frozen == "embeddings":
        assert recipe.model.start_from is not None, "a rule says so"
        freeze_embeddings(model, recipe.model.start_from.runs)
    plan = _compute_plan(run, model, device, listener=listener)
    adopt(model, plan)
    validation = build_validation(run, model, device, say=listener.say)
    batches = _stream(run, model, listener, encoders=encoders or Encoders(usable_cores()))
    stream: Stream = batches
    if not resuming and recipe.training.guided is not None and recipe.training.guided.lexicon:
        start_from_lexicon(model, batches, listener.say)
    objectives: Objectives = build_objective
    if capabilities_of(recipe.model).purpose == "fill":
        stream = MaskingStream(stream, len(run.source), run.source.special, seed=recipe.seed)
        objectives = _masked_objective
    if plan.compiled != "none":
        objectives = Compiled(model, plan.compiled, listener.say).around(objectives)
    trainer = Trainer(
        model,
        objectives,
        stream,
        settings=recipe.training,
        precision=plan.precision,
        files=run.files,
        validate=validation,
        listener=listener,
    )
    trainer.splitter.whole = None if splittable(recipe) else DEPENDS
    if adapters is not None:
        trainer.use_adapters(adapters)
    if (count := _replica_count(run, device)) > 1:
        trainer.use_replicas(count)
    return trainer


def _replica_count(run: Run, device: torch.device) -> int:
    """Return how many copies of the model compute parts of a batch; a run that has begun keeps its number."""
    if (run.folder / "manifest.json").exists():
        return 1 if run.recipe.training.shard else int(run.manifest.get("replicas", 1))
    return replica_count(run.recipe, device)


def _compute_plan(run: Run, model: nn.Module, device: torch.device, *, listener: Listener) -> ComputePlan:
    """Decide how the model computes here, following its manifest if it says so."""
    training, kept = run.recipe.training, run.manifest
    packed = training.padding == "packed" and device.type == "cuda" and kernel_works(device)
    if training.padding == "packed" and not packed:
        listener.say("Attention masks padding, because the kernel that skips it is not available here.")
    return ComputePlan(
        precision=kept.get("precision") or choose_training_precision(training.precision, device, width_of(model)),
        native=native_loops(kept.get("recurrence"), device, listener.say),
        native_loss=native_loss(kept.get("loss"), recurrence=kept.get("recurrence"), device=device, say=listener.say),
        packed=packed,
        compiled=training.compile,
    )


def _stream(run: Run, model: Model, listener: Listener, *, encoders: Encoders) -> BatchStream:
    """Encode the training corpus, check that it fits, and return its batches."""
    recipe, codecs = run.recipe, (run.source, run.target)
    guided = recipe.training.guided
    store, summary = build_store(
        run.folder.parent / ".cache",
        recipe.data,
        recipe.data.train,
        codecs=codecs,
        align=(guided is not None and guided.links == "learned") or recipe.text.glossary is not None,
        encoders=encoders,
        say=listener.say,
    )
    listener.say(str(summary))
    for warning in summary.warnings:
        listener.say(f"Warning: {warning}.")
    check_corpus(store, recipe)
    variation = _variation(recipe)
    if any(variation.rates(0)) and any(map(dropout_of, codecs)):
        prepare_segmentation(listener.say)
    return BatchStream(
        store,
        codecs,
        recipe.training.batch_tokens,
        seed=recipe.seed,
        variation=variation,
        bounds=(_most_tokens(model.source_positions), _most_tokens(model.target_positions)),
        previous=capabilities_of(recipe.model).previous,
    )


def _variation(recipe: Recipe) -> Variation:
    """Return how the sentences of one epoch differ from those of another."""
    text = recipe.text
    share = 0.0 if text.glossary is None else text.glossary.share
    noise = recipe.data.noise if recipe.data.is_noised else 0.0
    return Variation(text.sampling, target_sampling(text), text.sampling_epochs, recipe.data.joined, share, noise)


def with_choices(run: Run, trainer: Trainer, about: Mapping[str, Any]) -> Run:
    """Add to the manifest the choices made for this machine, so that a resumed run computes as before, and `about`.

    The number of threads is chosen only for a new run on a CPU.
    """
    chosen: dict[str, Any] = {"precision": trainer.precision_name}
    training = run.recipe.training
    if trainer.replicas is not None:
        chosen |= {"replicas": trainer.replicas.count, "threads": torch.get_num_threads()}
        return replace(run, manifest={**run.manifest, **about, **chosen})
    settled = training.threads or run.manifest.get("threads") or training.compile != "none"
    if not settled and not (run.folder / "manifest.json").exists() and trainer.device.type == "cpu":
        chosen["threads"] = probe_threads(trainer)
        torch.set_num_threads(chosen["threads"])
    return replace(run, manifest={**run.manifest, **about, **chosen})


def _record_cost(run: Run, trainer: Trainer) -> None:
    """Write the cost of training so far into the manifest.

    `estimated_flops` are time x sustained rate x processes, the rule of Vaswani et al. 2017 (section 6.1); `flops` are counted,
    without validation, whose time is part of `seconds`.
    """
    progress = trainer.progress
    rate = sustained_rate(trainer.device, dtype_of(trainer.precision_name))
    cost = {
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "trained_parameters": sum(one.numel() for one in trainer.trained.parameters() if one.requires_grad),
        "steps": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 3),
        "flops": progress.flops,
        "flops_per_token": progress.flops / max(progress.tokens, 1),
        "sustained_rate": rate,
        "estimated_flops": estimate(progress.seconds, trainer.world.size, rate),
        "peak_memory": peak_memory(trainer.device),
    }
    replace(run, manifest={**run.manifest, "cost": cost}).save()


def _masked_objective(training: TrainingSettings) -> Objective:
    """Return the training objective of a masked language model."""
    return partial(masked_loss, smoothing=training.label_smoothing)


def _most_tokens(positions: int | None) -> int | None:
    """Return the maximum number of text tokens in addition to </s> (or, for the decoder's input, <s>)."""
    return None if positions is None else positions - 1


def _try_average(run: Run, trainer: Trainer, count: int) -> None:
    """Use the average of the last weights if it is better on dev than those that are kept."""
    paths = run.files.kept()[-count:]
    if len(paths) < 2:
        return
    model, trained = trainer.model.eval(), trainer.trained
    fill(trained, {name: t.to(trainer.device) for name, t in average(paths).items()}, paths[-1])
    scores = trainer.validate(model)
    progress = trainer.progress
    better = is_better(scores, progress=progress, settings=trainer.settings)
    record = {"step": progress.step, "seconds": progress.seconds, "averaged": len(paths), **scores, "best": better}
    trainer.metrics.append(record)
    trainer.listener.record(record)
    if better:
        run.files.save_weights(run.weights, trained, {"averaged": len(paths), **scores})
        # so that a longer training replaces it only by something better
        note_kept(progress, scores, trainer.settings, averaged=len(paths))
        save_progress(run.files, progress)
        trainer.listener.say(f"The average of the last {len(paths)} weights is better on dev, so it is kept.")
    else:
        load_weights(run.weights, trained)
