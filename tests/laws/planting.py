"""Bugs planted for the time of one test, each a small change to the code; the law named with it must catch it."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest import MonkeyPatch
from tests.laws.architectures import ARCHITECTURES

Law = Callable[[Path], None]
Plant = Callable[[MonkeyPatch], None]


def law(function: Callable[..., None], name: str) -> Law:
    """A law of models, tried on the architecture called `name`."""
    return lambda folder: function(ARCHITECTURES[name])


def replace(owner: object, name: str, bug: Callable[..., Any]) -> Plant:
    """Put `bug`, which gets the right function first, in the place of a function."""
    return lambda patch: patch.setattr(owner, name, _with_original(bug, getattr(owner, name)))


def _with_original(bug: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the original to the bug."""
    return lambda *given, **named: bug(original, *given, **named)


def see_caught(law: Law, plant: Plant, folder: Path, *, monkeypatch: MonkeyPatch) -> None:
    """See that a law holds, and that it is broken once the bug is planted."""
    law(folder / "sound")
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        law(folder / "broken")


def numbers_of(module: ModuleType) -> set[str]:
    """Return the numbers of the laws in a module, whose functions are named by them."""
    return {found[1] for name in vars(module) if (found := re.match(r"law_(\d+)_", name))}
