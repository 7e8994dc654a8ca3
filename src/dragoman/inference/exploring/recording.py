"""A decoder as a `Step` that records what it predicts and attends to, under interventions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.attention.watching import Look, watched
from dragoman.inference.exploring.interventions import Steering
from dragoman.interfaces import Decoder

_given_up: ContextVar[Callable[[], bool]] = ContextVar("given_up", default=lambda: False)


class GivenUpError(Exception):
    """Nobody waits for a search any more, so it has ended at its next step."""


@contextmanager
def ending_when(given_up: Callable[[], bool]) -> Iterator[None]:
    """Let searches in a block end at their next step once `given_up` says so, with GivenUpError."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


@dataclass(frozen=True)
class Seen:
    """One step: the distribution of the next token of each row, and the weights over the source if the decoder attends."""

    log_probs: Float[Tensor, "rows vocab"]
    attention: Float[Tensor, "rows layer head source"] | None


@dataclass(frozen=True)
class Observed:
    """A look of attention, and the weights with which it was averaged after all interventions."""

    look: Look
    used: Float[Tensor, "batch head query key"]


@dataclass(frozen=True)
class Recorder:
    """Takes the steps of a search, and keeps what was seen at each."""

    decoder: Decoder
    steering: Steering
    lookup: nn.Module | None = None
    """Whose looks are kept too."""
    steps: list[Seen] = field(default_factory=list)
    looks: list[Observed] = field(default_factory=list)

    def __call__(self, tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        """Take a step as `decoding.step.step_of` does. GivenUpError where nobody waits for it (`ending_when`)."""
        if _given_up.get()():
            raise GivenUpError
        steer = self.steering.at(len(self.steps))

        def watch(lookup: nn.Module, look: Look) -> Tensor:
            used = steer(lookup, look)
            if lookup is self.lookup:
                self.looks.append(Observed(look, used))
            return used

        with watched(watch):
            output, state = self.decoder(tokens, state, need_weights=True)
        logits = output.logits[:, -1].float()
        temperature = self.steering.interventions.temperature
        logits = logits if temperature == 1 else logits / temperature
        attention = None if output.attention is None else output.attention[:, :, :, -1].float()
        self.steps.append(Seen(logits.log_softmax(-1), attention))
        return logits, state

    def walk(self, begin: Int[Tensor, " batch"], ids: Sequence[int], state: Any) -> None:
        """Take the step that predicts each of the `ids` of a given target, which begins after `begin`."""
        tokens = torch.cat([begin, begin.new_tensor(ids[:-1])])
        for token in tokens:
            _, state = self(token[None, None], state)
