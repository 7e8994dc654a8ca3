"""What is known from a recipe alone: above all which batches may be computed in parts, by copies of the model or one by one."""

from typing import Any

import torch

from dragoman.data.corpus_settings import LinesSettings
from dragoman.models.build import plugged
from dragoman.models.capabilities import Capabilities, capabilities_of
from dragoman.training.replicas import suitable_count


def model_of(recipe: Any) -> Capabilities:
    """Return what the model of a recipe supports."""
    return capabilities_of(recipe.model)


def linked(recipe: Any) -> list[bool]:
    """Tell of each training corpus of pairs whether it has word alignments."""
    return [isinstance(corpus, LinesSettings) and corpus.links is not None for corpus in recipe.data.pairs]


def splittable(recipe: Any) -> bool:
    """Tell whether parts of a batch, one after the other, have its loss and gradient: nothing depends on all of it."""
    model, training, hard = recipe.model, recipe.training, getattr(recipe.model, "hard", None)
    return (
        not plugged(model)
        and getattr(model, "experts", None) is None
        and (hard is None or hard.training != "reinforce")  # its baseline moves with each batch
        and getattr(training, "objective", "translation") == "translation"
        and not getattr(training, "rewards", ())
    )


def same_passes(recipe: Any) -> bool:
    """Tell whether each process calls each layer equally often: not to sample translations for a reward."""
    return not recipe.training.rewards


def replicable(recipe: Any) -> bool:
    """Tell whether copies of the model can compute parts of a batch: it is splittable, and chance is dropout alone."""
    model, training = model_of(recipe), recipe.training
    return (
        splittable(recipe)
        and model.translates
        and model.one_program
        and not model.data_dependent
        and not getattr(recipe.model, "attention_dropout", 0)
        and training.consistency is None
        and not training.word_dropout
    )


def replica_count(recipe: Any, device: torch.device) -> int:
    """Return how many copies of the model compute parts of a batch in a new run with torch's present number of threads."""
    training = recipe.training
    if training.replicas is not None:
        return training.replicas
    possible = device.type == "cpu" and training.compile == "none" and not training.shard and replicable(recipe)
    return suitable_count(torch.get_num_threads(), training.batch_tokens) if possible else 1
