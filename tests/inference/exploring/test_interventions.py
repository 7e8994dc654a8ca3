"""Rows of weights that are forced, and where in a model they are found."""

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES

from dragoman.inference.exploring.interventions import force, source_lookups
from dragoman.laws.examples import model_of
from dragoman.models.capabilities import capabilities_of


@pytest.mark.parametrize(
    ("row", "given", "expected"),
    [
        ([0.5, 0.3, 0.2], [(0, 0.0)], [0.0, 0.6, 0.4]),
        ([0.5, 0.3, 0.2], [(2, 1.0)], [0.0, 0.0, 1.0]),
        ([1.0, 0.0, 0.0], [(0, 0.5)], [0.5, 0.25, 0.25]),
        ([0.4, 0.2, 0.2], [(1, 0.5)], [0.2, 0.5, 0.1]),
        ([0.5, 0.3, 0.2], [(0, 0.1), (1, 0.2), (2, 0.7)], [0.1, 0.2, 0.7]),
    ],
)
def test_the_rest_of_a_row_keeps_its_proportions(row, given, expected) -> None:
    torch.testing.assert_close(force(torch.tensor([row]), given), torch.tensor([expected]))


@pytest.mark.parametrize("name", FAMILIES)
def test_each_layer_that_attends_to_the_source_has_its_lookup(name: str) -> None:
    known = capabilities_of(ARCHITECTURES[name]).source_heads
    assert len(source_lookups(model_of(ARCHITECTURES[name]))) == (known[0] if known else 0)
