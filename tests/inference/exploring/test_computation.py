"""The explanation of one head; that its numbers multiply out for every architecture is tested in `test_explorer`."""

import pytest
import torch
from tests.inference.exploring.test_explorer import TEXT, explorer_of

from dragoman.attention.scores import ScaledDot
from dragoman.errors import InputError


def test_a_computation_names_the_score_and_its_formula() -> None:
    found = explorer_of("transformer pre-norm, sinusoidal").compute(TEXT, [5], layer=2, head=2)
    assert (found.score, found.formula) == ("ScaledDot", "sᵀ h / √d")
    torch.testing.assert_close(found.projected, found.query / len(found.query) ** 0.5)
    assert found.mask.all() and len(found.keys) == len(found.weights)


def test_a_score_without_a_formula_is_written_as_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScaledDot, "formula", "")
    found = explorer_of("transformer pre-norm, sinusoidal").compute(TEXT, [5])
    assert found.formula == "ScaledDot(s, h)"


def test_heads_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="no head 3"):
        explorer_of("transformer pre-norm, sinusoidal").compute(TEXT, [5], head=3)
