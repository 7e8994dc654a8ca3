"""PackedWeights with laid out and with rounded weights."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from dragoman.errors import InputError
from dragoman.layers.linear import PackedWeights, _has_int8, linear
from dragoman.machine.precision import InferencePrecisionName

ERRORS: dict[InferencePrecisionName, float] = {"float32": 1e-5, "bfloat16": 0.03, "int8": 0.08}
INT8 = pytest.mark.skipif(not _has_int8(), reason="this processor, with this torch, does not multiply int8 well")


class Pair(nn.Module):
    """Two layers, one with a computed weight, and a weight that is used in parts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Linear(96, 128)
        self.second = weight_norm(nn.Linear(128, 200))

    def forward(self, inputs: Tensor) -> Tensor:
        """Use all of them."""
        hidden = self.first(inputs)
        parts = self.first.weight.split([32, 64], 1)
        return torch.cat([self.second(hidden), linear(inputs[..., 32:], parts[1], None)], -1)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", pytest.param("int8", marks=INT8)])
@pytest.mark.parametrize("rows", [1, 7])
def test_products_are_torchs_within_rounding(precision: InferencePrecisionName, rows: int) -> None:
    model = Pair()
    inputs = torch.randn(rows, 3, 96)
    with torch.inference_mode():
        expected = model(inputs)
        products = PackedWeights(precision, model)
        with products.used():
            found, again = model(inputs), model(inputs)
        outside = model(inputs)
    assert torch.equal(found, again)
    torch.testing.assert_close(outside, expected)
    difference = (found - expected).abs().max().item()
    assert difference < ERRORS[precision]
    assert (difference > 1e-4) == (precision != "float32")
    assert len(products._known) == 3


@INT8
def test_in_int8_company_changes_nothing() -> None:
    model = Pair()
    inputs = torch.randn(6, 96) * torch.tensor([1.0, 100.0, 0.01, 1.0, 5.0, 0.0])[:, None]
    with torch.inference_mode(), PackedWeights("int8", model).used():
        together = model(inputs)
        alone = torch.cat([model(row[None]) for row in inputs])
    assert torch.equal(together, alone)


def test_weights_of_no_model_are_never_kept() -> None:
    products = PackedWeights("int8", Pair())
    with torch.inference_mode(), products.used():
        for _ in range(3):
            weight, inputs = torch.randn(64, 96), torch.randn(4, 96)
            assert torch.equal(linear(inputs, weight, None), inputs @ weight.T)
    assert not products._known


def test_a_copy_computes_with_its_own_weights() -> None:
    model = nn.Sequential(nn.Linear(128, 128))
    packed, inputs = PackedWeights("float32", model), torch.ones(3, 128)
    with packed.used():
        expected = model(inputs)
        copied = copy.deepcopy(model)
    weights, both = copy.deepcopy((packed, model))
    for one in (copied, both):
        for parameter in one.parameters():
            nn.init.zeros_(parameter)
        with weights.used():
            assert not one(inputs).any()
    with packed.used():
        assert torch.equal(model(inputs), expected)


def test_packed_weights_stay_in_their_process() -> None:
    with pytest.raises(InputError, match=r"cannot be pickled; load it in each process"):
        pickle.dumps(PackedWeights("float32", nn.Linear(4, 4)))
