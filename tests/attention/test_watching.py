"""Whoever watches sees the weights and may change them; nobody else notices."""

import threading

import torch
from torch import Tensor, nn

from dragoman.attention.scores import Dot
from dragoman.attention.single_head import SingleHead
from dragoman.attention.watching import Look, watched, watcher


def test_a_watcher_changes_the_weights_of_its_own_thread_for_the_time_of_a_call() -> None:
    attention = SingleHead(Dot(), 2).eval()
    states, queries = torch.randn(1, 3, 2), torch.randn(1, 1, 2)
    memory = attention.prepare(states, states)
    looks: list[Look] = []
    elsewhere: list[Tensor] = []

    def watch(lookup: nn.Module, look: Look) -> Tensor:
        assert lookup is attention.lookup
        looks.append(look)
        return torch.tensor([[[[0.0, 1.0, 0.0]]]])

    before = attention(queries, memory, need_weights=True)
    with watched(watch):
        forced = attention(queries, memory, need_weights=True)
        thread = threading.Thread(target=lambda: elsewhere.append(attention(queries, memory).context))
        thread.start()
        thread.join()
    assert torch.equal(forced.context[0, 0], states[0, 1]) and forced.weights is not None
    assert torch.equal(looks[0].weights, before.weights) and len(looks) == 1
    assert torch.equal(elsewhere[0], before.context)
    assert torch.equal(attention(queries, memory).context, before.context) and watcher() is None
