"""Whether the loss of output layers is computed in C++ in training: chosen when a run begins, and kept."""

from collections.abc import Callable

import torch

from dragoman.native.compilation import LOSS
from dragoman.training.recurrence import obstacle


def choose_loss(device: torch.device, say: Callable[[str], object]) -> str:
    """Return `native` if the C++ extension is available, otherwise `plain` with the reason."""
    reason = obstacle(LOSS, device, say)
    return f"plain, because {reason}" if reason else "native"


def native_loss(
    chosen: str | None, *, recurrence: str | None, device: torch.device, say: Callable[[str], object]
) -> bool:
    """Tell whether the loss can be computed as `choose_loss` chose; report if not, as for a run from another machine.

    A run of version 0.1.0 has no such choice; its loss was native where its recurrent loops were.
    """
    if (chosen or recurrence) != "native":
        return False
    reason = obstacle(LOSS, device, say)
    if reason:
        say(f"This run's loss was computed in C++; here it is computed with torch, more slowly, because {reason}.")
    return not reason
