"""Weights that torch does not know of are found, wherever a module keeps them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from dragoman.models.unregistered import plain_tensors, unregistered


class Holder(nn.Module):
    """A module within which another keeps something in an attribute."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.kept = make()


def layer() -> nn.Linear:
    return nn.Linear(2, 2, bias=False)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: [layer(), nn.ReLU()], "[0].weight"),
        (lambda: (1, [nn.Parameter(torch.ones(2), requires_grad=False)]), "[1][0]"),
        (lambda: {"first": layer()}, "['first'].weight"),
        (lambda: torch.ones(2, requires_grad=True), ""),
    ],
)
def test_weights_in_a_plain_attribute_are_found(make: Callable[[], Any], place: str) -> None:
    assert list(unregistered(Holder(make))) == [f"inner.kept{place}"]


@pytest.mark.parametrize(
    "make",
    [
        layer,
        lambda: nn.ModuleList([layer()]),
        lambda: nn.ParameterDict({"first": torch.ones(2)}),
        lambda: nn.GRU(2, 2),
        lambda: parametrizations.weight_norm(layer()),
        lambda: torch.ones(2),
        lambda: [torch.ones(2, requires_grad=True) * 2, nn.Dropout(0.1)],
    ],
)
def test_what_torch_knows_and_what_is_no_weight_is_not(make: Callable[[], Any]) -> None:
    assert list(unregistered(Holder(make))) == []


def test_a_second_name_of_a_known_weight_hides_nothing() -> None:
    holder = Holder(layer)
    holder.all = [holder.inner, holder.inner.kept.weight]
    assert list(unregistered(holder)) == []


def test_a_plain_tensor_is_found_and_a_buffer_and_a_second_name_of_a_weight_are_not() -> None:
    holder = Holder(lambda: torch.ones(2))
    holder.register_buffer("table", torch.ones(2), persistent=False)
    holder.weight = nn.Parameter(torch.ones(2))
    holder.others = [holder.weight, nn.GRU(2, 2)]
    assert list(plain_tensors(holder)) == ["inner.kept"]
