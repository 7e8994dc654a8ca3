"""Functions over nested tensors."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from dragoman.tree import map_tensors


@dataclass(frozen=True)
class Leaf:
    """A tensor and things that are none."""

    tensor: Tensor
    count: int = 3
    nothing: None = None


@dataclass(frozen=True)
class Branch:
    """Leaves in a tuple."""

    leaves: tuple[Leaf, ...]
    tensor: Tensor


def test_every_tensor_is_mapped_and_the_form_is_kept() -> None:
    one, two = torch.ones(2), torch.zeros(3)
    mapped = map_tensors(lambda tensor: tensor + 1, Branch((Leaf(one), Leaf(two, 7)), one))
    assert isinstance(mapped, Branch) and [leaf.count for leaf in mapped.leaves] == [3, 7]
    assert mapped.leaves[0].tensor.tolist() == [2, 2] and mapped.leaves[1].tensor.tolist() == [1, 1, 1]
    assert mapped.tensor.tolist() == [2, 2]
    assert one.tolist() == [1, 1], "the old tree is left as it was"


def test_an_empty_tuple_stays_empty() -> None:
    assert map_tensors(lambda tensor: tensor + 1, ()) == ()


@pytest.mark.parametrize("strange", [[torch.ones(1)], {"a": torch.ones(1)}, "text", Leaf])
def test_what_it_cannot_look_inside_is_refused(strange: object) -> None:
    with pytest.raises(TypeError, match=rf"map_tensors cannot look inside a {type(strange).__name__}"):
        map_tensors(lambda tensor: tensor, (strange,))
