"""How the loops of recurrent models run in training: position by position, or as one operation written in C++."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import nn

from dragoman.errors import SettingsError
from dragoman.layers.recurrent import switch_native
from dragoman.native.compilation import RECURRENCE, NativeError, prepare


def choose_recurrence(
    requested: Literal["auto", "native", "plain"], device: torch.device, say: Callable[[str], object]
) -> str:
    """Return `native`, or `plain` with the reason behind it; `auto` is native on a CPU wherever the C++ parts can be had.

    SettingsError where `native` is asked for and cannot be had.
    """
    if requested == "plain":
        return "plain"
    reason = _obstacle(device, say)
    if reason and requested == "native":
        raise SettingsError(f"`training.recurrence: native` cannot be had, because {reason}; set it to auto or plain")
    if reason:
        say(f"Recurrent loops are plain and slower, because {reason}.")
    return f"plain, because {reason}" if reason else "native"


def use_recurrence(chosen: str | None, model: nn.Module, say: Callable[[str], object]) -> None:
    """Let the loops of `model` run as `choose_recurrence` said; says so where they cannot, as in a run from elsewhere."""
    if chosen != "native":
        return
    reason = _obstacle(next(model.parameters()).device, say)
    if reason:
        say(f"This run's recurrent loops were native; here they are plain and slower, because {reason}.")
    switch_native(model, on=not reason)


def _obstacle(device: torch.device, say: Callable[[str], object]) -> str:
    """Return why the C++ parts cannot be had, or nothing where they are loaded."""
    if device.type != "cpu":
        return "the C++ parts are for CPUs, and training is on a GPU"
    try:
        prepare(RECURRENCE, say)
    except NativeError as error:
        return str(error)
    return ""
