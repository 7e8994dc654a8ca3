"""Convolutions and normalised weights."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.layers.convolution import Convolution, normalised
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer

SHAPES = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 4), (2, 3)]
"""Width and dilation."""


def by_torch(convolution: Convolution, states: Tensor, left: int, right: int) -> Tensor:
    """Torch's convolution with the same weights, over states with zeros on both sides."""
    kernel = convolution.linear.weight.unflatten(1, (convolution.width, -1)).transpose(1, 2)
    padded = F.pad(states.mT, (left, right))
    return F.conv1d(padded, kernel, convolution.linear.bias, dilation=convolution.dilation).mT


@pytest.mark.parametrize(("width", "dilation"), SHAPES)
def test_a_centred_convolution_is_torch_s(width: int, dilation: int) -> None:
    convolution, states = Convolution(4, 6, width, dilation=dilation), torch.randn(2, 7, 4)
    left, right = (width - 1) // 2 * dilation, width // 2 * dilation
    torch.testing.assert_close(convolution(states), by_torch(convolution, states, left, right))


@pytest.mark.parametrize(("width", "dilation"), SHAPES)
def test_a_causal_convolution_is_torch_s_in_any_chunks(width: int, dilation: int) -> None:
    convolution, states = Convolution(4, 6, width, dilation=dilation), torch.randn(2, 7, 4)
    expected = by_torch(convolution, states, convolution.span, 0)
    for chunks in ([7], [1] * 7, [3, 1, 3]):
        past = convolution.empty_window(states)
        outputs = []
        for chunk in states.split(chunks, 1):
            output, past = convolution.causal(chunk, past)
            outputs.append(output)
        torch.testing.assert_close(torch.cat(outputs, 1), expected)
        assert past.shape == (2, (width - 1) * dilation, 4)


def test_a_row_of_normalised_weights_is_its_length_times_a_direction() -> None:
    layer = normalised(nn.Linear(5, 3))
    lengths, directions = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    torch.testing.assert_close(lengths, directions.norm(dim=1, keepdim=True))
    nn.init.normal_(lengths)
    torch.testing.assert_close(layer.weight, lengths * directions / directions.norm(dim=1, keepdim=True))
    before = layer.weight.clone()
    nn.init.constant_(layer.parametrizations.weight.original1, 1.0)
    assert not torch.allclose(layer.weight, before)


def test_a_normalised_linear_map_keeps_the_variance_of_what_dropout_leaves() -> None:
    torch.manual_seed(1)
    states = torch.randn(4, 500, 300)
    for rate in (0.0, 0.5):
        layer = normalised(nn.Linear(300, 200), dropout=rate)
        assert layer(Dropout(rate)(states)).var().item() == pytest.approx(1.0, rel=0.05)
        assert not layer.bias.any()


def test_a_gated_unit_after_a_gain_of_four_keeps_the_variance_of_small_inputs() -> None:
    """Gehring et al. 2017, appendix A: var(A sigmoid(B)) is near var(A) / 4 where B is small, as after embeddings of 0.1."""
    torch.manual_seed(1)
    states = 0.1 * torch.randn(4, 100, 64)
    convolution = Convolution(64, 400, 3)
    normalised(convolution.linear, gain=4.0)
    assert F.glu(convolution(states), -1)[:, 1:-1].var().item() == pytest.approx(0.01, rel=0.05)


def test_an_output_layer_can_be_normalised_and_its_loss_reads_those_weights() -> None:
    torch.manual_seed(1)
    layer = normalised(OutputLayer(6, 9))
    nn.init.constant_(layer.parametrizations.weight.original0, 2.0)
    features, labels = torch.randn(4, 6), torch.tensor([1, 5, 8, 0])
    total, _ = layer.loss(features, labels, 0.0)
    torch.testing.assert_close(total, F.cross_entropy(layer(features), labels, reduction="sum"))
    torch.testing.assert_close(layer.weight.norm(dim=1), torch.full((9,), 2.0))
