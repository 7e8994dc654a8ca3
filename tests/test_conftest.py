"""Shapes in signatures are checked while tests run."""

import jaxtyping
import pytest
import torch
from tests.shapes import begin, modules_with_shapes

from dragoman.attention.attend import normalize
from dragoman.data.collate import collate
from dragoman.interfaces import Padded


def test_the_modules_with_shapes_are_found() -> None:
    found = set(modules_with_shapes())
    assert {normalize.__module__, collate.__module__, "dragoman.interfaces"} <= found
    assert not {"dragoman.settings", "dragoman.cli.main"} & found


def test_a_wrong_shape_is_refused() -> None:
    scores, mask = torch.zeros(2, 3, 4), torch.ones(2, 3, 4, dtype=torch.bool)
    for _ in range(2):
        normalize(scores, mask)
    for wrong in (scores[0], scores[:, :2], scores.long()):
        with pytest.raises(jaxtyping.TypeCheckError):
            normalize(wrong, mask)


def test_a_dataclass_of_wrong_shapes_is_refused() -> None:
    ids, mask = torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool)
    for _ in range(2):
        Padded(ids, mask)
    for wrong in (mask[0], mask[:, :2], mask.long()):
        with pytest.raises(jaxtyping.TypeCheckError):
            Padded(ids, wrong)


def test_tests_of_whole_programs_go_without() -> None:
    scores, mask = torch.zeros(2, 3, 4), torch.ones(2, 3, 4, dtype=torch.bool)
    begin("end_to_end")
    assert normalize(scores[0], mask).shape == (2, 3, 4)
    begin("attention")
    with pytest.raises(jaxtyping.TypeCheckError):
        normalize(scores[0], mask)
