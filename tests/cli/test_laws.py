"""`dragoman laws` tries the laws on the plugins of a module and says which are broken."""

import sys
from pathlib import Path

import pytest
from tests.tiny import dragoman, refusal

from dragoman import plugins
from dragoman.laws import plugins as laws

MODULE = """
from dragoman.interfaces import Loss
from dragoman.plugins import Plugin
from dragoman.training.objectives import translation_loss


def build(training):
    def objective(model, batch):
        loss = translation_loss(model, batch)
        return Loss({total}, loss.tokens, loss.plain)

    return objective


PLUGINS = (Plugin("objective", "mine", build),)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of its own, with law 9 alone, which does not train; all that the command adds ends with the test."""
    laws_of = laws.laws_of
    monkeypatch.setattr(
        laws,
        "laws_of",
        lambda *given: {title: law for title, law in laws_of(*given).items() if title.startswith("9 ")},
    )
    monkeypatch.setattr(plugins, "_registered", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_objective_that_keeps_the_laws_passes(place: Path) -> None:
    (place / "sums_up.py").write_text(MODULE.format(total="loss.total"), encoding="utf-8")
    found = dragoman("laws", "sums_up")
    assert (found.code, found.errors) == (0, "2 laws kept, 0 broken.\n")
    assert found.lines == [
        f"objective mine in {architecture}: law 9 uneven batches add up: kept"
        for architecture in ("bahdanau", "transformer")
    ]


def test_an_objective_that_divides_too_early_fails_the_command(place: Path) -> None:
    (place / "divides.py").write_text(MODULE.format(total="loss.total / loss.tokens"), encoding="utf-8")
    found = dragoman("laws", "divides")
    assert (found.code, found.errors) == (1, "0 laws kept, 2 broken.\n")
    assert len(found.lines) == 2
    assert all(": law 9 uneven batches add up: AssertionError: " in line for line in found.lines)


@pytest.mark.parametrize("module", ["no_such_module_at_all", "math"])
def test_a_module_without_plugins_is_refused(module: str) -> None:
    assert f"`{module}`" in refusal("laws", module)
