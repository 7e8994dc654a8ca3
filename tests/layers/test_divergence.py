"""The divergence in pieces against torch's, in value and gradient, for output layers of both kinds."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.layers import divergence as of_divergence
from dragoman.layers.divergence import divergence
from dragoman.layers.embedding import OutputLayer
from dragoman.layers.mixture import MixtureHead, mixture_features


def example(kind: str, tokens: int) -> tuple[nn.Module, Tensor, Tensor]:
    """Return a head and the features of two predictions."""
    torch.manual_seed(tokens)
    output = OutputLayer(4, 7)
    if kind == "plain":
        return output, torch.randn(tokens, 4), torch.randn(tokens, 4)
    first, second = (mixture_features(torch.randn(tokens, 3, 4), torch.rand(tokens, 3).softmax(-1)) for _ in range(2))
    return MixtureHead(output), first, second


def torchs(head: nn.Module, first: Tensor, second: Tensor, symmetric: bool) -> Tensor:
    """Return the divergence with all logits at once."""
    log_p, log_q = head(first).log_softmax(-1), head(second).log_softmax(-1)
    there = F.kl_div(log_q, log_p, reduction="sum", log_target=True)
    return there + F.kl_div(log_p, log_q, reduction="sum", log_target=True) if symmetric else there


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("kind", "tokens"), [("plain", 1), ("plain", 4), ("plain", 11), ("mixture", 9)])
def test_value_and_gradients_are_torch_s(
    kind: str, tokens: int, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_divergence, "PIECE", 4)
    monkeypatch.setattr("dragoman.layers.mixture.PIECE", 12)
    head, first, second = example(kind, tokens)
    unrelated = nn.Parameter(torch.ones(2))
    inputs = [first.requires_grad_(), second.requires_grad_(), *head.parameters()]
    own = divergence(head, first, second, symmetric=symmetric, parameters=[*head.parameters(), unrelated])
    expected = torchs(head, first, second, symmetric)
    torch.testing.assert_close(own, expected, rtol=1e-5, atol=1e-6)
    both = (torch.autograd.grad(3 * sums, inputs) for sums in (own, expected))
    for mine, other in zip(*both, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


def test_what_is_predicted_alike_does_not_diverge() -> None:
    head, first, _ = example("plain", 5)
    first.requires_grad_()
    sums = divergence(head, first, first.detach().clone(), symmetric=True, parameters=list(head.parameters()))
    (gradient,) = torch.autograd.grad(sums, [first])
    assert sums.item() == pytest.approx(0, abs=1e-6) and gradient.abs().max() < 1e-6


def test_in_bfloat16_it_is_nearly_the_same() -> None:
    head, first, second = example("plain", 6)
    exact = divergence(head, first.requires_grad_(), second, symmetric=True, parameters=list(head.parameters()))
    with torch.autocast("cpu", torch.bfloat16):
        rough = divergence(head, first, second, symmetric=True, parameters=list(head.parameters()))
    torch.testing.assert_close(rough, exact, rtol=0.05, atol=0.05)
    (mine,), (other,) = torch.autograd.grad(rough, [first]), torch.autograd.grad(exact, [first])
    torch.testing.assert_close(mine, other, rtol=0.1, atol=0.1)


def test_logits_in_bfloat16_are_compared_in_float32() -> None:
    head, first, second = example("plain", 6)
    with torch.autocast("cpu", torch.bfloat16):
        found = divergence(head, first, second, symmetric=False, parameters=list(head.parameters()))
        logits = [head(side) for side in (first, second)]
    log_p, log_q = (rows.float().log_softmax(-1) for rows in logits)
    assert logits[0].dtype == torch.bfloat16
    torch.testing.assert_close(found, F.kl_div(log_q, log_p, reduction="sum", log_target=True), rtol=1e-4, atol=1e-5)
