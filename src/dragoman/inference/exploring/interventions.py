"""What a reader changes to see what follows: weights of attention, heads that are off, the temperature of the output."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.watching import Look, Watcher, watched
from dragoman.data.collate import collate
from dragoman.errors import InputError
from dragoman.layers.mixture import MixtureHead
from dragoman.machine.torch_state import undisturbed
from dragoman.models.seq2seq import Seq2Seq

PROBE = 3
"""Tokens of the sentence by which attention over the source is told from that over the target, at the first position."""
SLACK = 0.01
"""By how much weights that were rounded may add up to more than 1."""


@dataclass(frozen=True)
class Forced:
    """Weights that are set at one step of the target; what is left of the row goes to the other places, in proportion."""

    step: int
    """The step, from 0: that of the token written there."""
    weights: tuple[tuple[int, float], ...]
    """Places of the source, from 0, with their weights."""
    layer: int | None = None
    """From 1; None is every layer."""
    head: int | None = None
    """From 1; None is every head."""


@dataclass(frozen=True)
class Interventions:
    """Everything that is changed in a run of the model. Layers and heads count from 1, None is all of them."""

    forced: tuple[Forced, ...] = ()
    off: tuple[tuple[int | None, int | None], ...] = ()
    """Layers and heads whose context is zero."""
    temperature: float = 1.0
    """Logits are divided by it: below 1 the likeliest words become likelier."""

    @property
    def attention(self) -> bool:
        """Whether attention is changed."""
        return bool(self.forced or self.off)

    def check(self, lookups: Sequence[nn.Module], heads: int, source: int, *, head: object = None) -> None:
        """Raise InputError for what the model, whose output layer is `head`, or its source of so many tokens does not have."""
        if not 0.05 <= self.temperature <= 20:
            raise InputError(f"the temperature is {self.temperature:g}; give a number from 0.05 to 20")
        if self.attention and not lookups:
            raise InputError("this model has no attention over the source to change; choose a run whose model has one")
        if self.off and isinstance(head, MixtureHead):
            raise InputError(
                "this model adds up predictions over source positions, so a head cannot be off; force its weights instead"
            )
        for layer, number in (*((one.layer, one.head) for one in self.forced), *self.off):
            for name, given, size in (("layer", layer, len(lookups)), ("head", number, heads)):
                if given is not None and not 1 <= given <= size:
                    raise InputError(f"there is no {name} {given}; this model has {size}, counted from 1")
        for place, weight in (pair for one in self.forced for pair in one.weights):
            if not 0 <= place < source:
                raise InputError(f"there is no source token {place}; the sentence has {source}, counted from 0")
            if not 0 <= weight <= 1:
                raise InputError(f"the weight of source token {place} is {weight:g}; give a number from 0 to 1")
        for one in self.forced:
            if len({place for place, _ in one.weights}) < len(one.weights):
                raise InputError(f"step {one.step} has two weights for one source token; give each token one weight")
            if (total := sum(weight for _, weight in one.weights)) > 1 + SLACK:
                raise InputError(
                    f"the weights of step {one.step} add up to {total:g}; give weights that add up to at most 1"
                )


@dataclass(frozen=True)
class Steering:
    """Interventions in a model, whose `lookups` attend to the source, one for each layer."""

    interventions: Interventions
    lookups: tuple[nn.Module, ...]

    def at(self, step: int) -> Watcher:
        """Return who changes the weights at one step of the target, at which each row has one query."""
        forced = [one for one in self.interventions.forced if one.step == step]

        def steer(lookup: nn.Module, look: Look) -> Tensor:
            layer = next((number for number, one in enumerate(self.lookups, 1) if one is lookup), 0)
            weights = look.weights
            if layer == 0 or not (forced or self.interventions.off):
                return weights
            for one in forced:
                if one.layer in (None, layer):
                    weights = _with(weights, one.head, force(weights, one.weights))
            for off_layer, head in self.interventions.off:
                if off_layer in (None, layer):
                    weights = _with(weights, head, torch.zeros_like(weights))
            return weights

        return steer


def force(
    weights: Float[Tensor, "*batch query key"], given: Sequence[tuple[int, float]]
) -> Float[Tensor, "*batch query key"]:
    """Set weights at some places; the others keep their proportions, and the sum of each row stays what it was.

    >>> force(torch.tensor([[0.5, 0.25, 0.25]]), [(0, 0.8)]).tolist()
    [[0.800000011920929, 0.09999999403953552, 0.09999999403953552]]
    """
    places = [place for place, _ in given]
    values = weights.new_tensor([weight for _, weight in given])
    others = torch.ones(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    others[places] = 0
    rest, left = weights * others, (weights.sum(-1, keepdim=True) - values.sum()).clamp_min(0)
    sums = rest.sum(-1, keepdim=True)
    shares = torch.where(
        sums > 0, rest / sums.clamp_min(torch.finfo(weights.dtype).tiny), others / others.sum().clamp_min(1)
    )
    found = shares * left
    found[..., places] = values
    return found


def source_lookups(model: Seq2Seq) -> tuple[nn.Module, ...]:
    """Return the lookups with which a decoder attends to its source, in their order; none if it attends in another way.

    At the first position of the target there is one key of the target, but several of the source.
    """
    found: list[nn.Module] = []

    def note(lookup: nn.Module, look: Look) -> Tensor:
        if look.weights.shape[-1] == PROBE + 1 and lookup not in found:
            found.append(lookup)
        return look.weights

    unknown = [model.special.unk] * PROBE
    with torch.inference_mode(), undisturbed():
        batch = collate([(unknown, [])], special=model.special).to(next(model.parameters()).device)
        state = model.decoder.start(model.encoder(batch.source))
        with watched(note):
            attention = model.decoder(batch.inputs[:, :1], state, need_weights=True)[0].attention
    return tuple(found) if attention is not None and len(found) == attention.shape[1] else ()


def _with(weights: Tensor, head: int | None, changed: Tensor) -> Tensor:
    """Take the changed weights of one head, or of all."""
    if head is None:
        return changed
    result = weights.clone()
    result[:, head - 1] = changed[:, head - 1]
    return result
