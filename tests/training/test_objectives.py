"""What training makes small."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES

from dragoman.laws.examples import batch, fresh_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.objectives import translation_loss

PAIRS = batch([5, 3], [6, 3])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_summed_over_real_target_tokens(smoothing: float) -> None:
    model = fresh_model(ARCHITECTURES["luong additive"]).eval()
    loss = translation_loss(model, PAIRS, smoothing=smoothing)
    logits, labels = model(PAIRS.source, PAIRS.inputs).logits, PAIRS.labels.masked_fill(~PAIRS.real, -100)
    rows, flat = logits.flatten(0, 1), labels.flatten()
    assert loss.tokens == 7
    torch.testing.assert_close(loss.total, F.cross_entropy(rows, flat, reduction="sum", label_smoothing=smoothing))
    torch.testing.assert_close(loss.plain, F.cross_entropy(rows, flat, reduction="sum").detach())
    assert not loss.plain.requires_grad


def test_a_penalty_counts_once_per_token(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fresh_model(ARCHITECTURES["luong additive"]).eval()
    plain, forward = translation_loss(model, PAIRS), Seq2Seq.forward

    def penalised(*given: Any, **options: Any) -> Any:
        return replace(forward(*given, **options), penalty=torch.tensor(0.5))

    monkeypatch.setattr(Seq2Seq, "forward", penalised)
    with_penalty = translation_loss(model, PAIRS)
    torch.testing.assert_close(with_penalty.total, plain.total + 0.5 * 7)
    torch.testing.assert_close(with_penalty.plain, plain.plain)
