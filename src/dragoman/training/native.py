"""What runs in C++ in training.

Recurrent loops and the loss of output layers round otherwise there, so that is chosen when a run begins, and kept with it.
BPE-dropout is the same everywhere.
"""

from collections.abc import Callable
from typing import Literal

import torch

from dragoman.errors import SettingsError
from dragoman.native.compilation import LOSS, RECURRENCE, SEGMENTATION, NativeError, Part, prepare


def choose_recurrence(
    requested: Literal["auto", "native", "plain"], device: torch.device, say: Callable[[str], object]
) -> str:
    """Return `native`, or `plain` with the reason; `auto` is native on a CPU if the C++ extension is available.

    Raises SettingsError if `native` is requested but unavailable.
    """
    if requested == "plain":
        return "plain"
    reason = obstacle(RECURRENCE, device, say)
    if reason and requested == "native":
        raise SettingsError(f"`training.recurrence: native` is unavailable: {reason}; set it to auto or plain")
    if reason:
        say(f"Recurrent loops run in Python, more slowly, because {reason}.")
    return _choice(reason)


def choose_loss(device: torch.device, say: Callable[[str], object]) -> str:
    """Return `native` if the C++ extension is available, otherwise `plain` with the reason."""
    return _choice(obstacle(LOSS, device, say))


def native_loops(chosen: str | None, device: torch.device, say: Callable[[str], object]) -> bool:
    """Tell whether loops can run as `choose_recurrence` chose; report if not, as for a run from another machine."""
    return chosen == "native" and _is_usable(RECURRENCE, "recurrent loops were", device, say=say)


def native_loss(
    chosen: str | None, *, recurrence: str | None, device: torch.device, say: Callable[[str], object]
) -> bool:
    """Tell whether the loss can be computed as `choose_loss` chose; report if not.

    A run of version 0.1.0 has no such choice; its loss was native where its recurrent loops were.
    """
    return (chosen or recurrence) == "native" and _is_usable(LOSS, "loss was", device, say=say)


def prepare_segmentation(say: Callable[[str], object]) -> None:
    """Load what BPE-dropout runs faster with, on a CPU even where training is on a GPU; report if it is unavailable."""
    reason = obstacle(SEGMENTATION, torch.device("cpu"), say)
    if reason:
        say(f"BPE-dropout runs in Python, more slowly, because {reason}.")


def obstacle(part: Part, device: torch.device, say: Callable[[str], object]) -> str:
    """Return why a C++ extension is unavailable, or an empty string if it is loaded."""
    if device.type != "cpu":
        return "the C++ extension is for CPUs only, and training is on a GPU"
    try:
        prepare(part, say)
    except NativeError as error:
        return str(error)
    return ""


def _choice(reason: str) -> str:
    """Return what the manifest says of a part that is unavailable for this reason, or available."""
    return f"plain, because {reason}" if reason else "native"


def _is_usable(part: Part, what: str, device: torch.device, *, say: Callable[[str], object]) -> bool:
    """Tell whether a part that a run has begun with is available here; report if not."""
    reason = obstacle(part, device, say)
    if reason:
        say(f"This run's {what} computed in C++; here it is done in Python, more slowly, because {reason}.")
    return not reason
