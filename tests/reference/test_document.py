"""Hierarchical attention against Miculicich et al. 2018, section 2, in plain loops."""

import pytest
import torch
from tests.reference import loops
from torch import nn

from dragoman.attention.multi_head import MultiHead
from dragoman.models.document import DocumentSettings, HierarchicalAttention

REAL = [[[False] * 3] * 2, [[False] * 3, [True, True, False]], [[True] * 3, [True, False, False]]]
"""No previous sentence, one, and two."""


def pair(linear: nn.Linear) -> tuple[loops.Matrix, loops.Vector]:
    """Weight and bias as lists."""
    return linear.weight.tolist(), linear.bias.tolist()


def projections(attention: MultiHead) -> dict[str, tuple[loops.Matrix, loops.Vector]]:
    """The matrices of multi-head attention as lists."""
    (key, value), (key_bias, value_bias) = attention.key_value.weight.chunk(2), attention.key_value.bias.chunk(2)
    return {
        "query": pair(attention.query),
        "key": (key.tolist(), key_bias.tolist()),
        "value": (value.tolist(), value_bias.tolist()),
        "output": pair(attention.output),
    }


def hierarchical(module: HierarchicalAttention, h: loops.Vector, sentences: list[loops.Matrix]) -> loops.Vector:
    """h~ of one position, from the states of the words of the previous sentences, padding left out."""
    summaries = [
        loops.multi_head([h], words, heads=2, projections=projections(module.words), sees=[[True] * len(words)])[0]
        for words in sentences
    ]
    sees = [[True] * len(summaries)]
    (found,) = loops.multi_head([h], summaries, heads=2, projections=projections(module.sentences), sees=sees)
    d = loops.feed_forward(found, pair(module.feed_forward.inner), pair(module.feed_forward.outer))
    own, other = (part.tolist() for part in module.gate.weight.chunk(2, 1))
    gate = loops.sigmoid(loops.plus(loops.times(own, h), loops.times(other, d)))
    return [g * mine + (1 - g) * its for g, mine, its in zip(gate, h, d, strict=True)]


@pytest.mark.parametrize("need_weights", [False, True])
def test_words_then_sentences_are_read_and_gated_into_the_states(need_weights: bool) -> None:
    torch.manual_seed(5)
    module = HierarchicalAttention(DocumentSettings(width=6, heads=2, feed_forward=5, dropout=0.0))
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.6)
    states, previous, mask = torch.randn(3, 4, 6), torch.randn(3, 2, 3, 6), torch.tensor(REAL)
    gated = module.eval()(states, previous, mask, need_weights=need_weights)
    for row, found in enumerate(gated.states):
        sentences = [words[real].tolist() for words, real in zip(previous[row], mask[row], strict=True) if real.any()]
        expected = [hierarchical(module, h, sentences) if sentences else h for h in states[row].tolist()]
        torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-4, atol=1e-5)
