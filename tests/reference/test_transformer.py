"""The Transformer's parts against Vaswani et al. 2017, in plain loops."""

import pytest
import torch
from tests.reference import loops
from torch import nn

from dragoman.layers.feed_forward import FeedForward
from dragoman.layers.positions import sinusoids
from dragoman.models.transformer import EncoderLayer, TransformerSettings

SETTINGS = {"width": 6, "heads": 2, "feed_forward": 5, "dropout": 0.0}
SEES = [[True, True, False, True]] * 4


def large(module: nn.Module) -> nn.Module:
    """Fill every parameter with large random numbers."""
    torch.manual_seed(5)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.6)
    return module.eval()


def pair(linear: nn.Linear) -> tuple[loops.Matrix, loops.Vector]:
    """Weight and bias as lists."""
    return linear.weight.tolist(), linear.bias.tolist()


@pytest.mark.parametrize("width", [4, 7, 512])
@pytest.mark.parametrize("first", [0, 1000])
def test_positions_are_sinusoids(width: int, first: int) -> None:
    found = sinusoids(first, 3, width)
    expected = [[loops.sinusoid(first + row, feature, width) for feature in range(width)] for row in range(3)]
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-7 * max(1, 2 * first))


def test_the_feed_forward_network_is_equation_2() -> None:
    module = large(FeedForward(6, 5))
    states = torch.randn(1, 3, 6)
    expected = [loops.feed_forward(x, pair(module.inner), pair(module.outer)) for x in states[0].tolist()]
    torch.testing.assert_close(module(states)[0], torch.tensor(expected), rtol=1e-5, atol=1e-6)


def test_layer_norm_is_over_the_features_of_one_position() -> None:
    module = large(nn.LayerNorm(6))
    states = torch.randn(2, 3, 6)
    for state, result in zip(states.flatten(0, 1).tolist(), module(states).flatten(0, 1), strict=True):
        expected = loops.layer_norm(state, module.weight.tolist(), module.bias.tolist())
        torch.testing.assert_close(result, torch.tensor(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_section_3_1(norm: str) -> None:
    layer = large(EncoderLayer(TransformerSettings(norm=norm, **SETTINGS)))
    states = torch.randn(1, 4, 6)
    found = layer(states, torch.tensor([[SEES[0]]])).states[0]
    attention = layer.attention
    (key, value), (key_bias, value_bias) = attention.key_value.weight.chunk(2), attention.key_value.bias.chunk(2)
    projections = {
        "query": pair(attention.query),
        "key": (key.tolist(), key_bias.tolist()),
        "value": (value.tolist(), value_bias.tolist()),
        "output": pair(attention.output),
    }

    def normalised(rows: loops.Matrix, module: nn.LayerNorm) -> loops.Matrix:
        return [loops.layer_norm(row, module.weight.tolist(), module.bias.tolist()) for row in rows]

    def self_attention(rows: loops.Matrix) -> loops.Matrix:
        return loops.multi_head(rows, rows, heads=2, projections=projections, sees=SEES)

    def transformed(rows: loops.Matrix) -> loops.Matrix:
        network = layer.feed_forward
        return [loops.feed_forward(row, pair(network.inner), pair(network.outer)) for row in rows]

    rows = states[0].tolist()
    for sublayer, module in ((self_attention, layer.after_attention), (transformed, layer.after_feed_forward)):
        entering = normalised(rows, module.norm) if norm == "pre" else rows
        rows = [loops.plus(*both) for both in zip(rows, sublayer(entering), strict=True)]
        rows = rows if norm == "pre" else normalised(rows, module.norm)
    torch.testing.assert_close(found, torch.tensor(rows), rtol=1e-4, atol=1e-5)
