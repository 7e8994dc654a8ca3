"""How much memory a training takes: the parts that follow from its recipe, and what a batch adds to them.

`jobs/checks.py` refuses what cannot fit by these numbers, `jobs/auto.py` chooses a batch by them, `jobs/plan.py` shows them.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.interfaces import Batch, Loss, Padded
from dragoman.jobs.parts import model_of
from dragoman.layers.adapters import Adapters
from dragoman.layers.embedding import freeze_embeddings
from dragoman.layers.outline import without_memory
from dragoman.machine.memory import free_memory
from dragoman.machine.precision import arithmetic, choose_training_precision, width_of
from dragoman.models.build import build_model, plugged
from dragoman.models.classifier import DocumentClassifier
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import Recipe
from dragoman.special_ids import SPECIAL_IDS
from dragoman.training.contracts import Objective
from dragoman.training.masking import masked_loss
from dragoman.training.objectives import build_objective
from dragoman.training.optimizers import state_size
from dragoman.training.settings import OptimisationSettings

BYTES = 4
"""Bytes of a weight, of its gradient, and of each number that the optimiser keeps."""
SHARE = 0.6
"""Share of the free memory that a batch chosen by `auto` may fill, with all else: the rest is for passing results, for memory
that the allocator cannot use, and for other programs."""
ROWS, LENGTH = 4, 50
"""Sentences, and tokens of each, of the smaller of two batches whose memory is compared."""
SMALLEST_BATCH = 100
"""Tokens of the smallest batch that is chosen for lack of memory."""


@dataclass(frozen=True)
class StaticMemory:
    """Bytes that a training takes whatever its batches are."""

    weights: int
    """Of the model; with adapters, of the model that holds the corrected weights, of their base, and of the factors."""
    gradients: int
    optimizer: int
    """What the optimiser keeps from step to step."""
    average: int = 0
    """The moving average of weights (`training.ema`)."""
    replicas: int = 0
    """Gradients of the copies of the model that compute parts of a batch."""

    @property
    def total(self) -> int:
        """Return the sum."""
        return self.weights + self.gradients + self.optimizer + self.average + self.replicas


@dataclass(frozen=True)
class Outline:
    """A recipe's model without memory for its weights, on the meta device."""

    model: nn.Module
    trained: nn.Module
    """What is trained, saved and averaged: the model, or its adapters."""


def outline_of(recipe: Any, vocabularies: Vocabularies) -> Outline:
    """Build the model of a translator's or classifier's recipe, and its adapters if it has any, on the meta device.

    A plugin that reads numbers of its tensors while it builds, which are not there, is given memory for them.
    """
    try:
        with without_memory():
            model, trained = _built(recipe, vocabularies)
    except RuntimeError:
        if not plugged(recipe.model):
            raise
        with torch.random.fork_rng(devices=[]):
            model, trained = _built(recipe, vocabularies)
    if getattr(recipe.training, "frozen", "none") == "embeddings" and recipe.model.start_from is not None:
        freeze_embeddings(model, recipe.model.start_from.runs)
    return Outline(model, trained)


def _built(recipe: Any, vocabularies: Vocabularies) -> tuple[nn.Module, nn.Module]:
    """Build the model of a recipe; return it, and what is trained."""
    adapters = getattr(recipe.model, "adapters", None)
    if model_of(recipe).purpose == "classify":
        model: nn.Module = DocumentClassifier(recipe.model, vocabularies.source, 2)
    else:
        model = build_model(recipe.model, vocabularies)
    return model, model if adapters is None else Adapters(model, adapters)


def static_memory(outline: Outline, training: OptimisationSettings, replicas: int = 1) -> StaticMemory:
    """Return what weights, gradients and optimiser take; frozen weights have neither gradient nor optimiser's state.

    Phases with other optimisers follow one another; the largest counts.
    """
    model, trained = outline.model, outline.trained
    own = _count(model.parameters())
    corrected = _count(weight for weight in model.parameters() if weight.requires_grad)
    factors = 0 if trained is model else _count(trained.parameters())
    states = [state_size(trained, training.in_phase(number)) for number in range(len(training.phases) + 1)]
    return StaticMemory(
        weights=BYTES * (own + (factors + corrected if factors else 0)),
        gradients=BYTES * (corrected + factors),
        optimizer=BYTES * max(states),
        average=BYTES * _count(trained.parameters()) if training.ema else 0,
        replicas=BYTES * corrected * (replicas - 1),
    )


def saved_bytes(compute: Callable[[], Loss], weights: Iterable[Tensor]) -> int:
    """Return the bytes that a forward pass keeps for the backward pass, each memory counted once, without the `weights`.

    Not counted is what lives only for a moment, such as the logits of a piece of the batch.
    """
    own = {weight.untyped_storage().data_ptr() for weight in weights}
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        sizes[memory.data_ptr()] = memory.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = compute()
    del loss
    return sum(size for place, size in sizes.items() if place not in own)


def fitting_batch(recipe: Recipe, vocabularies: Vocabularies, device: torch.device) -> int:
    """Return `training.batch_tokens`, or less if such a batch does not fit into the free memory.

    Torch's random state is unchanged. A model that does not fit itself is left for `check_machine` to refuse.
    """
    wanted, room = recipe.training.batch_tokens, room_for_batches(recipe, vocabularies, device)
    if not 0 < room < math.inf:
        return wanted
    return min(wanted, max(int(room / _bytes_per_token(recipe, vocabularies, device)), SMALLEST_BATCH))


def room_for_batches(recipe: Recipe, vocabularies: Vocabularies, device: torch.device) -> float:
    """Return the bytes of the free memory that are left for batches: none or fewer if the model does not fit, inf if unknown."""
    free = free_memory(device.type)
    if free is None:
        return math.inf
    return SHARE * free - static_memory(outline_of(recipe, vocabularies), recipe.training).total


def _bytes_per_token(recipe: Recipe, vocabularies: Vocabularies, device: torch.device) -> float:
    """Return how many bytes a training batch keeps for each of its `training.batch_tokens`."""
    objective, most = objective_of(recipe), longest(recipe, LENGTH)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        model = build_model(recipe.model, vocabularies).to(device)
        precision = choose_training_precision(recipe.training.precision, device, width_of(model))
        sizes = []
        for rows in (ROWS, 2 * ROWS):
            pairs = example(recipe, rows, most, vocabularies=vocabularies).to(device)
            with arithmetic(precision, device):
                sizes.append(saved_bytes(partial(objective, model, pairs), model.parameters()))
    return max(sizes[1] - sizes[0], 1) / (ROWS * most)


def objective_of(recipe: Recipe) -> Objective:
    """Return the objective that a recipe's model is trained with first."""
    masked = model_of(recipe).purpose == "fill"
    return (
        partial(masked_loss, smoothing=recipe.training.label_smoothing) if masked else build_objective(recipe.training)
    )


def longest(recipe: Recipe, length: int) -> int:
    """Return `length`, or the number of tokens of the longest sentence that the model can take, if that is less."""
    model = model_of(recipe)
    return min(most for most in (length, model.source_positions, model.target_positions) if most is not None)


def example(recipe: Recipe, rows: int, length: int, *, vocabularies: Vocabularies) -> Batch:
    """Return random pairs of sentences of so many tokens, without padding, such as the recipe's model learns from."""
    links = None if recipe.training.guided is None else torch.zeros(rows, length, length, dtype=torch.bool)
    source = _random_sentences(rows, vocabularies.source, length)
    return Batch(source, _random_sentences(rows, vocabularies.target, length + 1), links)


def _random_sentences(rows: int, vocabulary: int, length: int) -> Padded:
    """Return random sentences without padding."""
    ids = torch.randint(min(max(SPECIAL_IDS.all) + 1, vocabulary - 1), vocabulary, (rows, length))
    return Padded(ids, torch.ones_like(ids, dtype=torch.bool))


def _count(weights: Iterable[Tensor]) -> int:
    """Return how many numbers there are."""
    return sum(weight.numel() for weight in weights)
