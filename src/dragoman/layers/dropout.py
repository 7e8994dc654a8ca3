"""Dropout that costs little on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Sets each number to 0 with probability `rate` in training, and scales the others up (Srivastava et al. 2014).

    One random 64-bit word decides on eight numbers, which makes drawing them about eight times cheaper on a CPU. Deviation:
    the rate is rounded to a multiple of 1/256, at most 255/256; the scale is exact for that rate, so the mean is kept.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.dropped = min(round(rate * 256), 255)

    def forward(self, states: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Drop in training; return `states` as they are otherwise."""
        if not self.training or self.dropped == 0:
            return states
        count = states.numel()
        words = torch.empty((count + 7) // 8, dtype=torch.int64, device=states.device).random_(-(2**63), None)
        keep = words.view(torch.uint8)[:count].view(states.shape) >= self.dropped
        return states * (keep.to(states.dtype) * (256 / (256 - self.dropped)))

    def extra_repr(self) -> str:
        """Show the rate."""
        return f"rate={self.rate}"


def dropout_rates(model: nn.Module) -> list[tuple[nn.Module, str, int | float]]:
    """Find all that drops at random in a model: modules, the attribute that says how much, and its value now."""
    rates: list[tuple[nn.Module, str, int | float]] = []
    for module in model.modules():
        name = "dropped" if isinstance(module, Dropout) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, int | float):
            rates.append((module, name, value))
    return rates


def switch_dropout(rates: list[tuple[nn.Module, str, int | float]], *, on: bool) -> None:
    """Let all that `dropout_rates` found drop as much as it did then, or nothing."""
    for module, name, value in rates:
        setattr(module, name, value if on else type(value)(0))
