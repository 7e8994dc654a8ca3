"""What is refused before a training begins: settings that nothing would read, and settings that do not fit together.

`check_recipe` looks at the recipe alone, `check_machine` at this computer too, `check_corpus` at the encoded corpus. None of
them makes a model or trains, so whoever plans or diagnoses a training can ask them.
"""

import os
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dragoman.errors import CorpusError, SettingsError
from dragoman.inference.checks import MODEL, Use
from dragoman.jobs.rules import RULES, model_of
from dragoman.machine.memory import free_memory
from dragoman.models.build import build_model
from dragoman.models.capabilities import Capabilities
from dragoman.models.classifier import DocumentClassifier
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import Recipe
from dragoman.runs.rules import refusals
from dragoman.settings import Settings
from dragoman.training.settings import OptimisationSettings

MOMENTS = {"adam": 2, "adamw": 2, "muon": 2, "nesterov": 1, "sgd": 0}
"""How many numbers each optimiser keeps of a weight, at most."""
BYTES = 4
"""Bytes of a weight, and of each number that training keeps of it."""
THREADS = 64
"""So many threads may be asked for on any machine, and four for each core where that is more."""

LARGEST_OF_PAPER = 0.04
"""GNMT's `initial_range`; with it, layers below `ENOUGH` units hardly learn."""
ENOUGH = 512
"""Units of a layer that learns from first weights of that size."""
SMALLEST = 5
"""Size of the smallest vocabulary."""


def check_recipe(recipe: Settings, *, begun: Settings | None = None) -> list[str]:
    """Refuse (SettingsError) the first setting of a recipe, of a translator or a classifier, that nothing would read.

    What the recipe of a run that was `begun` ignores already is not refused, for it cannot be changed any more: its
    sentences are returned.
    """
    known = [] if begun is None else _refusals(begun)
    found = _refusals(recipe)
    for sentence in found:
        if sentence not in known:
            raise SettingsError(sentence)
    return found


def _refusals(recipe: Settings) -> list[str]:
    """Return a sentence for each setting of a recipe that nothing would read, or that does not fit the others."""
    return refusals(RULES, recipe) + refusals(MODEL, Use(getattr(recipe, "decoding", None), model_of(recipe)))


def remarks(recipe: Settings) -> list[str]:
    """Return what is worth saying of a recipe that is trained as it is."""
    return [remark for remark in (_about_warmup(recipe), _about_first_weights(recipe)) if remark]


def _about_warmup(recipe: Settings) -> str:
    """Say where the learning rate never reaches its peak."""
    training = _training(recipe)
    first = training.phases[0].after if training.phases else 1.0
    if training.steps is None or training.warmup < training.steps * first:
        return ""
    return (
        f"The learning rate never reaches its peak: `training.warmup` is {training.warmup} steps, and `training.steps` ends it "
        f"after {round(training.steps * first)}."
    )


def _about_first_weights(recipe: Any) -> str:
    """Say where first weights are too small for the layers to pass anything on."""
    bound, hidden = getattr(recipe.model, "initial_range", None), getattr(recipe.model, "hidden", ENOUGH)
    if bound is None or bound > LARGEST_OF_PAPER or hidden >= ENOUGH:
        return ""
    return (
        f"Layers of {hidden} learn little from weights that start as small as `model.initial_range: {bound}`, which is for "
        "layers of 1024; set `model.initial_range: null`."
    )


def check_machine(recipe: Settings, device: torch.device) -> None:
    """Refuse (SettingsError) what this machine does not have: memory for the model, packages, threads, a GPU."""
    training = _training(recipe)
    if training.tensorboard and find_spec("tensorboard") is None:
        raise SettingsError(
            "`training.tensorboard` needs a package that is not installed; install it with "
            '`pip install "dragoman[tensorboard]"`, or remove the setting'
        )
    most = max(THREADS, 4 * (os.cpu_count() or 1))
    if training.threads is not None and training.threads > most:
        raise SettingsError(
            f"`training.threads: {training.threads}` is more than this machine can use; set at most {most}, or remove it"
        )
    if getattr(training, "compile", "none") == "graphs" and device.type != "cuda":
        raise SettingsError(
            "`training.compile: graphs` records what a GPU does, and training is on a CPU; set `training.compile: none`"
        )
    _check_memory(recipe, device)


def _training(recipe: Any) -> OptimisationSettings:
    """Return the section `training` of a recipe."""
    training: OptimisationSettings = recipe.training
    return training


def _check_memory(recipe: Any, device: torch.device) -> None:
    """Refuse a model whose weights, gradients and optimiser state alone are larger than the memory that is free."""
    free = free_memory(device.type)
    try:
        weights = count_weights(recipe)
    except (RuntimeError, OverflowError):  # more than an address can say
        raise SettingsError("this `model` is larger than any memory; choose smaller sizes in `model`") from None
    needed = weights * BYTES * (2 + MOMENTS[recipe.training.optimizer])
    if free is not None and needed > free:
        raise SettingsError(
            f"this `model` has at least {weights:.2g} weights, which take {needed / 2**30:,.1f} GiB with their gradients and the "
            f"optimiser's state, but only {free / 2**30:,.1f} GiB of memory are free; choose smaller sizes in `model`"
        )


def count_weights(recipe: Any) -> int:
    """Return how many weights the model of a recipe has at least, without making them; its vocabularies may be larger."""
    size = recipe.text.size or SMALLEST
    with torch.device("meta"):
        if model_of(recipe).purpose == "classify":
            model: nn.Module = DocumentClassifier(recipe.model, size, 2)
        else:
            model = build_model(recipe.model, Vocabularies(size, size, shared=True))
        return sum(weight.numel() for weight in model.parameters())


@runtime_checkable
class EncodedCorpus(Protocol):
    """What `check_corpus` asks of an encoded training corpus, such as a `Store`."""

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Tokens of each source, without </s>."""
        ...

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Tokens of each target, without </s>."""
        ...

    def text(self, index: int) -> tuple[str, str]:
        """Return both sides of a pair as text."""
        ...


def check_corpus(store: EncodedCorpus, recipe: Recipe) -> None:
    """Refuse training sentences that are longer than the model's positions, and a window that hides nothing of any of them."""
    _check_lengths(store, model_of(recipe))
    window = model_of(recipe).window
    longest = int(store.source_lengths.max()) + 1
    if window is not None and window.reach >= longest:
        raise SettingsError(
            f"`model.window.reach` is {window.reach}, but the longest training sentence has {longest} tokens (with </s>), so the "
            "window would hold all of every sentence; set a smaller one, or remove `model.window`"
        )


def _check_lengths(store: EncodedCorpus, model: Capabilities) -> None:
    """Refuse (CorpusError) training sentences longer than the model's positions."""
    bounds = (model.source_positions, model.target_positions)
    for number, (lengths, bound) in enumerate(zip((store.source_lengths, store.target_lengths), bounds, strict=True)):
        longest = int(lengths.argmax())
        tokens = int(lengths[longest]) + 1
        if bound is not None and tokens > bound:
            raise CorpusError(
                f"a training sentence has {tokens} tokens (with </s>), more than the {bound} positions of the model "
                f"(`{store.text(longest)[number][:80]}`); set a larger model.max_positions, or a smaller data.filters.max_words"
            )
