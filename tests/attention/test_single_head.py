"""Attention with one head."""

import torch

from dragoman.attention.scores import Dot
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attention


def test_it_is_an_attention() -> None:
    assert isinstance(SingleHead(Dot(), 4), Attention)


def test_weights_come_only_where_asked_for() -> None:
    attention, states = SingleHead(Dot(), 4), torch.randn(2, 3, 4)
    memory = attention.prepare(states, states)
    assert attention(states, memory).weights is None
    assert attention(states, memory, need_weights=True).weights.shape == (2, 1, 3, 3)


def test_the_context_has_the_size_of_the_values() -> None:
    attention = SingleHead(Dot(), 4)
    memory = attention.prepare(torch.randn(2, 5, 4), torch.randn(2, 5, 9))
    assert attention(torch.randn(2, 3, 4), memory).context.shape == (2, 3, 9)


def test_dropout_is_for_training_only() -> None:
    attention, states = SingleHead(Dot(), 4, dropout=0.5), torch.randn(1, 8, 4)
    memory = attention.prepare(states, states)
    assert not torch.equal(attention(states, memory).context, attention(states, memory).context)
    attention.eval()
    assert torch.equal(attention(states, memory).context, attention(states, memory).context)
