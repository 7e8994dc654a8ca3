"""The position-wise feed-forward network. Its equation is tested in `tests/reference`."""

import torch

from dragoman.layers.feed_forward import FeedForward


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
