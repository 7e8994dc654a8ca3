"""How many target tokens per second a model learns from on this machine, measured in a few steps on random sentences."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch

from dragoman.jobs.memory import example, longest, objective_of
from dragoman.jobs.parts import model_of, replica_count, splittable
from dragoman.jobs.workload import FILLED
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.machine.precision import arithmetic, choose_training_precision, dtype_of, width_of
from dragoman.machine.threads import quickest_thread_count, threads_restored
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.native.compilation import LOSS, RECURRENCE
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.training.flops import counting
from dragoman.training.native import obstacle
from dragoman.training.optimizers import build_optimizer
from dragoman.training.replicas import Replicas, add_gradient
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

LENGTH = 25
"""Tokens per sentence."""
TIMED = 3
"""Steps that are timed, after one that is not."""
SECONDS = 5.0
"""Seconds of timed steps after which there are no more."""
BATCH = 1500
"""Tokens of a batch of the reference model."""
ROWS = 8
"""Sentences whose FLOPs are counted."""
LARGEST = 8000
"""Most tokens of a batch of any model: as many as `auto` ever chooses."""
REFERENCE = {
    "kind": "transformer",
    "encoder_layers": 3,
    "decoder_layers": 3,
    "width": 192,
    "feed_forward": 768,
    "heads": 3,
}
"""The model whose speed says how fast a machine is."""


def reference_of(recipe: Recipe, *, shared: bool) -> Recipe:
    """Return a recipe that trains the reference model as it is always trained here, with this recipe's precision and threads.

    Its languages have one vocabulary if it is `shared`.
    """
    names = ("precision", "threads", "replicas", "device")
    kept = {name: value for name in names if (value := getattr(recipe.training, name)) is not None}
    training = parse(TrainingSettings, {"steps": 1, "optimizer": "muon", "batch_tokens": BATCH, **kept})
    model = parse(TransformerSettings, {**REFERENCE, "tied": "all" if shared else "target"})
    return recipe.model_copy(update={"model": model, "training": training})


def measure_speed(
    recipe: Recipe,
    vocabularies: Vocabularies,
    device: torch.device,
    *,
    say: Callable[[str], object],
    processes: int = 1,
) -> float:
    """Return how many target tokens per second the model of `recipe` learns from on this machine, in a few seconds.

    It is trained as in the first phase of its training, in batches as full as real ones are on average, but never compiled or
    packed, and with all of its weights: not those of adapters alone. Where several
    `processes` share it, this one computes its share of a batch, and the others are taken to be as fast. Torch's random state is
    unchanged. What `say` is told is that C++ code is compiled.
    """
    training = recipe.training
    length = longest(recipe, LENGTH)
    rows = int(FILLED * min(training.batch_tokens, LARGEST)) // length // (processes if splittable(recipe) else 1)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), threads_restored():
        torch.set_num_threads(training.threads or torch.get_num_threads())
        batch = example(recipe, max(rows, 1), length, vocabularies=vocabularies).to(device)
        model = build_model(recipe.model, vocabularies).to(device)
        precision = choose_training_precision(training.precision, device, width_of(model))
        loops = model_of(recipe).native and training.recurrence != "plain"
        plan = ComputePlan(
            precision=precision,
            native=loops and not obstacle(RECURRENCE, device, say),
            native_loss=not obstacle(LOSS, device, say),
        )
        adopt(model, plan)
        rounding = partial(arithmetic, precision, device)
        count, threads = replica_count(recipe, device), torch.get_num_threads()
        replicas = Replicas(model, count, threads=threads, precision=rounding) if count > 1 else None
        step = partial(
            train_step,
            model,
            objective_of(recipe),
            build_optimizer(model, training, dtype_of(precision)),
            batches=[batch],
            clip=training.clip,
            compute=Compute(rounding(), replicas),
        )
        step()
        if training.threads is None and replicas is None and device.type == "cpu" and threads > 1:
            torch.set_num_threads(quickest_thread_count(step))
        seconds: list[float] = []
        while len(seconds) < TIMED and sum(seconds) < SECONDS:
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        if replicas is not None:
            replicas.close()
    return processes * len(batch.label_positions) / min(seconds)


def measure_cost(recipe: Recipe, vocabularies: Vocabularies) -> float:
    """Return the FLOPs of training the model of `recipe`, per target token, as training counts them, of a few sentences."""
    with torch.random.fork_rng(devices=[]), counting() as counted:
        model = build_model(recipe.model, vocabularies)
        batch = example(recipe, ROWS, longest(recipe, LENGTH), vocabularies=vocabularies)
        tokens = len(batch.label_positions)
        add_gradient(model, objective_of(recipe), batch, tokens=tokens, precision=nullcontext())
    return counted.flops / tokens
