"""How attention computed the weights of one step, in numbers: query, keys, scores, mask, weights, and the average."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.attend import average
from dragoman.attention.lookup import LookupOptions
from dragoman.errors import InputError
from dragoman.inference.exploring.recording import Observed


@dataclass(frozen=True)
class Computation:
    """One query and all keys of one head, in the numbers that the model computed with."""

    score: str
    """Name of the score."""
    formula: str
    """Its formula, for a query s and a key h; only the name with both where a plugin gives none."""
    kind: LookupOptions
    """How scores become weights."""
    query: Float[Tensor, " query_dim"]
    projected: Float[Tensor, " _"]
    """The query as it meets the keys."""
    keys: Float[Tensor, "key prepared"]
    """The keys as they were prepared for the score."""
    terms: Float[Tensor, "key feature"]
    """What each feature adds to the score of each key."""
    scores: Float[Tensor, " key"]
    mask: Bool[Tensor, " key"]
    """True where the query may look."""
    weights: Float[Tensor, " key"]
    """The weights that follow from the scores."""
    used: Float[Tensor, " key"]
    """The weights that the average was taken with: other ones where they were forced."""
    values: Float[Tensor, "key value_dim"]
    context: Float[Tensor, " value_dim"]
    """The sum of the values weighted by `used`."""


def computation_of(decoder: Any, lookup: nn.Module, observed: Observed, *, head: int) -> Computation:
    """Explain what one head of a decoder's `lookup` computed for its only query. InputError without such a head."""
    look = observed.look
    heads = look.scores.shape[1]
    if not 1 <= head <= heads:
        raise InputError(f"there is no head {head}; this model has {heads}, counted from 1")
    owner: Any = next(module for module in decoder.modules() if getattr(module, "lookup", None) is lookup)
    score = owner.score
    place, one = (0, head - 1, 0), (0, head - 1)
    visible = (
        look.scores.new_ones(look.scores.shape, dtype=torch.bool)
        if look.mask is None
        else look.mask.expand_as(look.scores)
    )
    terms = score.terms(look.queries, look.memory.keys)
    values, used = look.memory.values[one], observed.used[place]
    found = {
        "query": look.queries[place],
        "projected": score.project(look.queries)[place],
        "keys": look.memory.keys[one],
        "terms": terms[place],
        "scores": look.scores[place],
        "mask": visible[place],
        "weights": look.weights[place],
        "used": used,
        "values": values,
        "context": average(used[None], values)[0],
    }
    cpu = {name: tensor.cpu() for name, tensor in found.items()}
    name = type(score).__name__
    return Computation(name, score.formula or f"{name}(s, h)", owner.lookup.kind, **cpu)
