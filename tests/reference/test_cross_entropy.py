"""Label-smoothed cross-entropy in pieces against the equation, and its gradients against torch's."""

import pytest
import torch
import torch.nn.functional as F
from tests.reference import loops
from torch import Tensor

from dragoman.layers import cross_entropy
from dragoman.layers.cross_entropy import linear_cross_entropy

VOCABULARY = 7


def example(tokens: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, weight, bias and labels."""
    generator = torch.Generator().manual_seed(tokens)
    features, weight = torch.randn(tokens, 4, generator=generator), torch.randn(VOCABULARY, 4, generator=generator)
    labels = torch.randint(VOCABULARY, (tokens,), generator=generator)
    return features, weight, torch.randn(VOCABULARY, generator=generator), labels


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_sums_are_the_equation(smoothing: float) -> None:
    features, weight, bias, labels = example(6)
    total, plain = linear_cross_entropy(features, weight, bias, labels=labels, smoothing=smoothing)
    logits = [loops.affine(weight.tolist(), x, bias.tolist()) for x in features.tolist()]
    rows = list(zip(logits, labels.tolist(), strict=True))
    assert total.item() == pytest.approx(sum(loops.smoothed_cross_entropy(*row, smoothing) for row in rows), rel=1e-5)
    assert plain.item() == pytest.approx(sum(loops.smoothed_cross_entropy(*row, 0.0) for row in rows), rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("tokens", "piece"), [(1, 4), (3, 4), (4, 4), (5, 4), (8, 4), (11, 4), (1030, 1024)])
def test_loss_and_gradients_are_torch_s(
    tokens: int, piece: int, has_bias: bool, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy, "PIECE", piece)
    features, weight, bias, labels = example(tokens)
    inputs = [features, weight, bias] if has_bias else [features, weight]
    for tensor in inputs:
        tensor.requires_grad_()
    own, _ = linear_cross_entropy(features, weight, bias if has_bias else None, labels=labels, smoothing=smoothing)
    logits = F.linear(features, weight, bias if has_bias else None)
    torchs = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(own, torchs, rtol=1e-5, atol=1e-5)
    found, expected = (torch.autograd.grad(3 * loss, inputs) for loss in (own, torchs))
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)
