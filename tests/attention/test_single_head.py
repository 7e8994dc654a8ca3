"""Attention with one head."""

from typing import Any

import torch
from torch import Tensor

from dragoman.attention.lookup import Lookup, LookupOptions, LookupResult
from dragoman.attention.scores import Dot
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attended, Attention, KeyValues


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


class Doubled(SingleHead):
    def forward(self, queries: Tensor, memory: KeyValues, mask: Tensor | None = None, **options: Any) -> Attended:
        return super().forward(2 * queries, memory, mask, **options)


class Sharper(Lookup):
    def forward(self, queries: Tensor, scores: Tensor, memory: KeyValues, **options: Any) -> LookupResult:
        return super().forward(queries, 2 * scores, memory, **options)


def test_attention_made_from_this_one_is_not_computed_by_a_kernel_that_knows_this_one_alone() -> None:
    assert SingleHead(Dot(), 4).eval().score_parts() is not None
    assert Doubled(Dot(), 4).eval().score_parts() is None
    other = SingleHead(Dot(), 4).eval()
    other.lookup = Sharper(4, LookupOptions())
    assert other.score_parts() is None
