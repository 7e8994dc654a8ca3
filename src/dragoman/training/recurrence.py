"""How the loops of recurrent models run in training: position by position, or as one C++ operation."""

from collections.abc import Callable
from typing import Literal

import torch

from dragoman.errors import SettingsError
from dragoman.native.compilation import RECURRENCE, NativeError, Part, prepare


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
    return f"plain, because {reason}" if reason else "native"


def native_loops(chosen: str | None, device: torch.device, say: Callable[[str], object]) -> bool:
    """Tell whether loops can run as `choose_recurrence` chose; report if not, as for a run from another machine."""
    if chosen != "native":
        return False
    reason = obstacle(RECURRENCE, device, say)
    if reason:
        say(f"This run's recurrent loops were native; here they run in Python, more slowly, because {reason}.")
    return not reason


def obstacle(part: Part, device: torch.device, say: Callable[[str], object]) -> str:
    """Return why a C++ extension is unavailable, or an empty string if it is loaded."""
    if device.type != "cpu":
        return "the C++ extension is for CPUs only, and training is on a GPU"
    try:
        prepare(part, say)
    except NativeError as error:
        return str(error)
    return ""
