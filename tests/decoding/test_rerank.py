"""Coverage of the source, and ranking by it."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.decoding.toys import ToyDecoder, encoded
from torch import Tensor

from dragoman.decoding import Hypotheses, Hypothesis, coverage, score_target
from dragoman.decoding.rerank import rerank
from dragoman.errors import InputError
from dragoman.interfaces import BOS, EOS, DecoderState, Padded

FOUND = Hypotheses([[Hypothesis([3], -1.0, -1.0), Hypothesis([4, 5, 3, 4], -1.1, -1.1)], [Hypothesis([5], -2.0, -2.0)]])


def test_coverage_is_the_equation_of_wu() -> None:
    weights = torch.tensor([[[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]]])
    target, source = torch.tensor([[True, True, False]]), torch.tensor([[True, True, True]])
    expected = math.log(min(0.6, 1)) + math.log(min(1.1, 1)) + math.log(min(0.3, 1))
    assert coverage(weights, target, source).item() == pytest.approx(expected, abs=1e-6)


def test_padding_of_the_source_needs_no_coverage() -> None:
    weights = torch.tensor([[[0.5, 0.5, 0.0]]])
    source = torch.tensor([[True, True, False]])
    assert coverage(weights, torch.tensor([[True]]), source).item() == pytest.approx(2 * math.log(0.5))


def test_source_tokens_that_got_nothing_give_a_finite_penalty() -> None:
    penalty = coverage(torch.tensor([[[1.0, 0.0]]]), torch.tensor([[True]]), torch.tensor([[True, True]]))
    assert -100 < penalty.item() < -50


def test_reranking_adds_the_penalty_of_each_hypothesis() -> None:
    decoder, source = ToyDecoder(), encoded([3, 11])
    found = rerank(FOUND, decoder, source, beta=1.0, n_best=2)
    for row, alternatives in enumerate(found.alternatives()):
        for one in alternatives:
            target = torch.tensor([[BOS, *one.ids, EOS]])
            everything = torch.ones_like(target, dtype=torch.bool)
            alone = replace(source, states=source.states[row : row + 1], mask=source.mask[row : row + 1])
            weights = score_target(decoder, alone, Padded(target, everything), need_weights=True).attention
            assert weights is not None
            penalty = coverage(weights[:, 0, 0], everything[:, 1:], alone.mask).item()
            assert one.score == pytest.approx(one.log_prob + penalty, abs=1e-5)
    assert found.ids[0] == [[4, 5, 3, 4], [3]]
    assert found.log_prob[0] == [-1.1, -1.0]


def test_what_translations_begin_with_covers_nothing() -> None:
    decoder, source, start = ToyDecoder(), encoded([3, 11]), [4, 5]
    found = rerank(FOUND, decoder, source, beta=1.0, n_best=2, starts=[start] * 2)
    for row, alternatives in enumerate(found.alternatives()):
        for one in alternatives:
            ids = torch.tensor([[BOS, *start, *one.ids]])
            alone = replace(source, states=source.states[row : row + 1], mask=source.mask[row : row + 1])
            output, _ = decoder(ids, decoder.start(alone), need_weights=True)
            assert output.attention is not None
            weights = output.attention[:, 0, 0, len(start) :]
            penalty = coverage(weights, torch.ones(weights.shape[:2], dtype=torch.bool), alone.mask).item()
            assert one.score == pytest.approx(one.log_prob + penalty, abs=1e-5)


def test_reranking_keeps_what_is_asked_for() -> None:
    assert rerank(FOUND, ToyDecoder(), encoded([3, 11]), beta=0.0, n_best=1).ids == [[[3]], [[5]]]


def test_the_penalty_of_experts_is_no_hindrance() -> None:
    source = replace(encoded([3, 11]), penalty=torch.tensor(0.5))
    assert len(rerank(FOUND, ToyDecoder(), source, beta=1.0, n_best=1)) == 2


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        rerank(FOUND, ToyDecoder(attends=False), encoded([3, 11]), beta=1.0, n_best=1)
    assert str(caught.value) == "this model has no attention over the source; set decoding.coverage_penalty=0"


def test_no_logits_are_computed() -> None:
    without = ToyDecoder()
    without.table = without.table[:0]
    found, expected = (rerank(FOUND, one, encoded([3, 11]), beta=1.0, n_best=2) for one in (without, ToyDecoder()))
    assert found == expected


class TwoHeads(ToyDecoder):
    """A decoder of two layers with two heads each, which look more or less at the same tokens."""

    shares = torch.tensor([[0.5, 1.5], [0.75, 1.25]])

    def __call__(self, tokens: Tensor, state: DecoderState[Any, Any], *, need_weights: bool = False) -> Any:
        output, after = super().__call__(tokens, state, need_weights=need_weights)
        weights = None if output.attention is None else output.attention * self.shares[:, :, None, None]
        return replace(output, attention=weights), after


def test_weights_are_averaged_over_layers_and_heads() -> None:
    one, four = (rerank(FOUND, kind(), encoded([3, 11]), beta=1.0, n_best=2) for kind in (ToyDecoder, TwoHeads))
    assert four.ids == one.ids
    for mine, others in zip(four.score, one.score, strict=True):
        assert mine == pytest.approx(others, abs=1e-5)
