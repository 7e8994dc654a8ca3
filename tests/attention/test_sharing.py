"""Hypotheses that share a sentence attend as if each had a copy of it; the laws say so of whole models."""

from typing import Any

import pytest
import torch

from dragoman.attention.local import Window
from dragoman.attention.lookup import LookupOptions
from dragoman.attention.multi_head import MultiHead
from dragoman.attention.scores import build_score
from dragoman.attention.settings import HardSettings, WindowSettings
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import KeyValues
from dragoman.tree import map_tensors

SENTENCES, COPIES, QUERIES, KEYS, WIDTH = 2, 3, 2, 5, 8
MASK = torch.tensor([[[True] * 5], [[True] * 3 + [False] * 2]])
KINDS = {
    "softmax": LookupOptions(),
    "sparsemax": LookupOptions("sparsemax"),
    "local-m": LookupOptions(window=WindowSettings(kind="monotonic", reach=1)),
    "local-p": LookupOptions(window=WindowSettings(kind="predictive", reach=1)),
    "hard": LookupOptions(hard=HardSettings(training="gumbel")),
}


def attentions(kind: LookupOptions) -> list[Any]:
    """Make one with several heads and one with a single head."""
    torch.manual_seed(3)
    single = SingleHead(build_score("additive", WIDTH, WIDTH, hidden=6, positions=9), WIDTH, kind)
    return [MultiHead(WIDTH, 2, kind=kind).eval(), single.eval()]


@pytest.mark.parametrize("weights", [False, True], ids=["context", "weights"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_sharing_gives_what_copies_give(kind: LookupOptions, weights: bool) -> None:
    states, queries = torch.randn(SENTENCES, KEYS, WIDTH), torch.randn(SENTENCES * COPIES, QUERIES, WIDTH)
    for attention in attentions(kind):
        memory: KeyValues = attention.prepare(states, states)
        copied = map_tensors(lambda tensor: tensor.repeat_interleave(COPIES, 0), memory)
        options = {"offset": 1, "need_weights": weights}
        shared = attention(queries, memory, MASK, **options)
        alone = attention(queries, copied, MASK.repeat_interleave(COPIES, 0), **options)
        torch.testing.assert_close(shared.context, alone.context)
        assert (shared.weights is not None) == weights
        if weights:
            torch.testing.assert_close(shared.weights, alone.weights)


def test_a_window_moves_with_the_position_and_not_with_the_copy() -> None:
    window = Window(WindowSettings(kind="monotonic", reach=1), WIDTH)
    may_see, _ = window(torch.zeros(1, 1, 4, WIDTH), torch.ones(1, 1, 1, KEYS, dtype=torch.bool), 1, copies=2)
    assert may_see[0, 0].int().argmax(-1).tolist() == [0, 1, 0, 1]
