"""One model or an ensemble as a `Step`, the interface for search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.errors import InputError
from dragoman.interfaces import Decoder, Step


def step_of(decoder: Decoder) -> Step:
    """Return the step of one decoder: its float32 logits of the token after the last position."""

    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        output, state = decoder(tokens, state)
        return output.logits[:, -1].float(), state

    return step


def feed(step: Step, state: Any, given: Int[Tensor, "batch length"]) -> tuple[Int[Tensor, " batch"], Any]:
    """Give tokens to a model before a search; return the last, with which the search begins, and the state before it."""
    for tokens in given[:, :-1].unbind(1):
        _, state = step(tokens[:, None], state)
    return given[:, -1], state


@dataclass(frozen=True)
class EnsembleState:
    """The states of the models of an ensemble, in their order."""

    states: tuple[Any, ...]

    def expand(self, copies: int) -> "EnsembleState":
        """Turn each hypothesis into `copies` consecutive ones, which share the source."""
        return EnsembleState(tuple(state.expand(copies) for state in self.states))

    def repeat(self, copies: int) -> "EnsembleState":
        """Turn each row of each state into `copies` consecutive equal rows."""
        return EnsembleState(tuple(state.repeat(copies) for state in self.states))

    def reorder(self, rows: Int[Tensor, " rows"]) -> "EnsembleState":
        """Reorder hypotheses within each sentence."""
        return EnsembleState(tuple(state.reorder(rows) for state in self.states))

    def select(self, rows: Int[Tensor, " rows"], sentences: Int[Tensor, " sentences"] | None = None) -> "EnsembleState":
        """Keep only the hypotheses `rows`, and of the sources `sentences`."""
        return EnsembleState(tuple(state.select(rows, sentences) for state in self.states))


def ensemble(steps: Sequence[Step], weights: Sequence[float] | None = None) -> Step:
    """Return the step that averages the probabilities (not their logarithms) of `steps`; its state is an EnsembleState.

    `weights` need not sum to 1. Raises InputError if they do not fit the models, or the vocabularies differ in size.
    """
    log_weights = _log_weights(len(steps), weights)

    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        results = [one(tokens, past) for one, past in zip(steps, state.states, strict=True)]
        sizes = [logits.shape[-1] for logits, _ in results]
        if len(set(sizes)) > 1:
            raise InputError(
                f"the models of an ensemble have target vocabularies of {_listed(sizes)} tokens; "
                "give models trained with the same vocabulary"
            )
        weighted = [logits.log_softmax(-1) + weight for (logits, _), weight in zip(results, log_weights, strict=True)]
        return torch.stack(weighted).logsumexp(0), EnsembleState(tuple(after for _, after in results))

    return step


def _log_weights(models: int, weights: Sequence[float] | None) -> list[float]:
    """Return the logarithms of the weights after scaling them to the sum 1."""
    if models == 0:
        raise InputError("an ensemble needs at least one model; give one or more runs")
    given = [1.0] * models if weights is None else list(weights)
    if len(given) != models:
        raise InputError(f"an ensemble of {models} models needs {models} weights but has {len(given)}")
    if not all(0 < weight < math.inf for weight in given):
        raise InputError(f"the weights of an ensemble are {_listed(given)}; give positive numbers")
    return [math.log(weight / sum(given)) for weight in given]


def _listed(values: Sequence[object]) -> str:
    """Join values with commas and a last "and"."""
    words = [str(value) for value in values]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
