"""Dropout that is cheap on a CPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Set each number to 0 with probability `rate` in training and scale up the others (Srivastava et al. 2014).

    One random 64-bit word decides for eight numbers, each byte compared in place with a threshold: on a CPU this takes a
    quarter of the time of torch's dropout. Deviation: the rate is rounded to a multiple of 1/256, at most 255/256; the scale
    is exact for that rate, also in bfloat16, so the mean is preserved. The same random state drops the same numbers.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.dropped = min(round(rate * 256), 255)
        self.generator: torch.Generator | None = None
        """Where random numbers come from, on a CPU; None for torch's own state."""

    def forward(self, states: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Drop in training; return `states` as they are otherwise."""
        if not self.drops:
            return states
        if states.dtype in _EXACT:
            return states * self._keep(states).mul_(self._scale)
        kept: Tensor = _Kept.apply(states, self._keep(states), self._scale, None)
        return kept

    def add(self, states: Float[Tensor, "*shape"], output: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return `states` plus `output` after dropout, in a single pass."""
        if not self.drops:
            return states + output
        if states.dtype in _EXACT:
            return torch.addcmul(states, output, self._keep(output), value=self._scale)
        added: Tensor = _Kept.apply(output, self._keep(output), self._scale, states)
        return added

    def keep(self, shape: Sequence[int]) -> Tensor | None:
        """Return the factors for numbers of this shape on a CPU, or None if nothing is dropped."""
        if not self.drops:
            return None
        return self._keep(torch.empty(shape)).mul_(self._scale)

    @property
    def drops(self) -> bool:
        """Tell whether dropout is active now."""
        return self.training and self.dropped > 0

    @property
    def _scale(self) -> float:
        """Return the factor that restores the mean."""
        return 256 / (256 - self.dropped)

    def _keep(self, states: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Draw 1 for each number that is kept, and 0 for the others."""
        count = states.numel()
        size, low = (count + 7) // 8, -(2**63)
        if torch.compiler.is_compiling():  # no in-place random numbers there; these differ in one bit only
            words = torch.randint(low, 2**63 - 1, (size,), device=states.device) ^ low
        else:
            words = torch.empty(size, dtype=torch.int64, device=states.device)
            words.random_(low, None, generator=self.generator)
        return words.view(torch.uint8)[:count].view(states.shape).ge_(self.dropped).to(states.dtype)

    def extra_repr(self) -> str:
        """Show the rate."""
        return f"rate={self.rate}"


_EXACT = (torch.float32, torch.float64)
"""Types in which the scale can be part of the factor; others would round it."""


class _Kept(torch.autograd.Function):
    """states * keep * scale, plus `added` if given; only `keep` is saved for the backward pass."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, keep: Tensor, scale: float, added: Tensor | None) -> Tensor:
        """Mask, scale and add."""
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return (states * keep).mul_(scale) if added is None else torch.addcmul(added, states, keep, value=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Mask and scale the gradient."""
        (keep,) = ctx.saved_tensors
        by_states = (gradients[0] * keep).mul(ctx.scale)
        return by_states, None, None, gradients[0] if ctx.needs_input_grad[3] else None


@dataclass(frozen=True)
class DropoutRate:
    """How much a module drops: the attribute that says it, and its value while dropout is on."""

    module: nn.Module
    attribute: str
    value: int | float


def dropout_rates(model: nn.Module) -> list[DropoutRate]:
    """Find all that drops at random in a model, with what it drops now."""
    rates: list[DropoutRate] = []
    for module in model.modules():
        name = "dropped" if isinstance(module, Dropout) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, int | float):
            rates.append(DropoutRate(module, name, value))
    return rates


def switch_dropout(rates: list[DropoutRate], *, on: bool) -> None:
    """Restore the rates that `dropout_rates` found, or turn dropout off."""
    for rate in rates:
        setattr(rate.module, rate.attribute, rate.value if on else type(rate.value)(0))
