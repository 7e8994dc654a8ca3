"""How much a budget lets a model learn, by which `auto` chooses, and what it has chosen."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

FILLED = 0.85
"""Share of a batch's tokens, as the recipe limits them, that are real ones of the target, where a corpus fills many batches."""
MORE_BATCHES = 5
"""How many more batches than full ones a pass has, because sentences of a batch have similar lengths."""


@dataclass(frozen=True)
class Choice:
    """A setting chosen by `auto`."""

    path: str
    value: Any
    reason: str
    """What it depends on; empty if it is always the same, or follows from another choice."""


def changed(choices: Iterable[Choice], path: str, **fields: Any) -> list[Choice]:
    """Return the choices with other `fields` in that of a path.

    >>> changed([Choice("a.b", 1, "why"), Choice("a.c", 2, "")], "a.b", value=3)
    [Choice(path='a.b', value=3, reason='why'), Choice(path='a.c', value=2, reason='')]
    """
    return [replace(one, **fields) if one.path == path else one for one in choices]


@dataclass(frozen=True)
class Workload:
    """How much a budget lets a model learn."""

    pairs: int
    tokens: int
    """Target tokens in one pass over the corpus."""
    seen: float
    """Target tokens that the model learns from in the budget, counted each time they are seen."""
    speed: float | None = None
    """Tokens per second of the model on this machine, if it was measured."""
    cost: float | None = None
    """FLOPs of training the model, per target token, if they were counted."""
    seen_by_reference: float | None = None
    """What the reference model would see, by which all that is to be chosen before the speed of a model can be measured."""
    timed: bool = False
    """Whether the budget is a time, in which a faster model sees more."""
    gpu: bool = False
    width: int | None = None
    """Width of the model, if the recipe says so."""
    heads: int = 1
    """Heads that divide the width, if the recipe says so."""
    batch: int | None = None
    """Tokens of a batch, if the recipe says so."""
    step: int | None = None
    """Target tokens of a step of several batches, if the recipe says so."""
    layers: int | None = None
    """Layers of the decoder, if the recipe says so."""
    linkable: bool = True
    """Whether words can be linked, and the objective learns from links."""
    by_character: bool = False
    """Whether tokens are single characters, which come again in any sentence."""
    before: float | None = None
    """Target tokens that the run has learned from with which the whole model starts; None for a new model."""
    imported: bool = False
    """Whether that run was imported."""
    epochs: float | None = None
    """Passes to make where the recipe has no other budget, or time for more than are of use."""

    @property
    def passes(self) -> float:
        """Return the number of passes over the corpus."""
        return self.seen / max(self.tokens, 1)

    def __str__(self) -> str:
        passes = f"{float(f'{self.passes:.3g}'):,g}"
        return f"{passes} pass{'' if passes == '1' else 'es'} over the corpus{self.bound}"

    @property
    def bound(self) -> str:
        """Say that the budget is what ends the training, if it is."""
        return "" if self.epochs is not None else " in the budget"

    @property
    def amount(self) -> float:
        """Return the target tokens by which the model, its batch and its guide are chosen."""
        return self.seen if self.seen_by_reference is None else self.seen_by_reference

    @property
    def learned(self) -> float:
        """Return the target tokens that the model has learned from at the end, by which its translations are searched for."""
        return self.seen + (self.before or 0.0)

    def steps(self, batch: int) -> float:
        """Return the number of steps, where a batch has at most `batch` tokens."""
        return max(self.seen / (self.step or tokens_of_batch(batch, self.tokens)), 1)


def tokens_of_batch(batch: int, corpus: int) -> float:
    """Return the target tokens of a batch of at most `batch` tokens, padding included, of a corpus of `corpus` target tokens.

    >>> [round(tokens_of_batch(1000, corpus)) for corpus in (5_000_000, 50_000, 2000, 300)]
    [849, 783, 340, 300]
    """
    full = corpus / (FILLED * batch)
    return max(corpus, 1) / max(full + min(1.5 * full, MORE_BATCHES), 1)
