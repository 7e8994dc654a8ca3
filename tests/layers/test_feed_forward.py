"""The position-wise feed-forward network. Its equation is tested in `tests/reference`."""

import math
from collections.abc import Callable

import pytest
import torch

from dragoman.layers.feed_forward import ActivationName, FeedForward

EQUATIONS: dict[ActivationName, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "swish": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def test_positions_do_not_see_one_another() -> None:
    network, states = FeedForward(4, 6), torch.randn(2, 3, 4)
    torch.testing.assert_close(network(states)[:, 1:2], network(states[:, 1:2]))


def test_dropout_is_on_the_inner_layer_in_training_only() -> None:
    torch.manual_seed(1)
    network, states = FeedForward(4, 64, dropout=0.5), torch.randn(1, 1, 4)
    assert not torch.equal(network(states), network(states))
    network.eval()
    assert torch.equal(network(states), network(states))


def test_a_gate_multiplies_what_is_widened() -> None:
    network, states = FeedForward(4, 6, gated=True), torch.randn(2, 3, 4)
    weight, bias = network.inner.weight, network.inner.bias
    expected = torch.empty(2, 3, 4)
    for row in range(2):
        for time in range(3):
            x = states[row, time]
            gate, value = weight[:6] @ x + bias[:6], weight[6:] @ x + bias[6:]
            expected[row, time] = network.outer.weight @ (gate * torch.sigmoid(gate) * value) + network.outer.bias
    torch.testing.assert_close(network(states), expected)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", EQUATIONS)
def test_an_activation_may_be_named(name: ActivationName, gated: bool) -> None:
    network, states = FeedForward(4, 6, gated=gated, activation=name), torch.randn(1, 1, 4)
    inner = (network.inner.weight @ states[0, 0] + network.inner.bias).tolist()
    activated = [EQUATIONS[name](one) for one in inner[:6]]
    passed = [one * gate for one, gate in zip(activated, inner[6:], strict=True)] if gated else activated
    expected = network.outer.weight @ torch.tensor(passed) + network.outer.bias
    torch.testing.assert_close(network(states)[0, 0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("gated", "default"), [(False, "relu"), (True, "swish")])
def test_the_default_activation_is_the_paper_s(gated: bool, default: ActivationName) -> None:
    network, named = FeedForward(4, 6, gated=gated), FeedForward(4, 6, gated=gated, activation=default)
    named.load_state_dict(network.state_dict())
    states = torch.randn(2, 3, 4)
    assert torch.equal(network(states), named(states))


def test_biases_may_be_left_out() -> None:
    network = FeedForward(4, 6, gated=True, biases=False)
    assert [name for name, _ in network.named_parameters()] == ["inner.weight", "outer.weight"]
    assert not network(torch.zeros(1, 1, 4)).any()
