"""An output that adds up what each source position predicts."""

import pytest
import torch
import torch.nn.functional as F

from dragoman.layers import mixture
from dragoman.layers.embedding import OutputLayer
from dragoman.layers.mixture import MixtureHead, linear_of_parts, mixture_features


def example() -> tuple[MixtureHead, torch.Tensor, torch.Tensor]:
    """A head, features of 7 tokens from 5 positions of which the last is hidden, and labels."""
    torch.manual_seed(2)
    head = MixtureHead(OutputLayer(4, 9)).double()
    weights = torch.randn(7, 5).masked_fill(torch.arange(5) == 4, -torch.inf).softmax(-1).double()
    return head, mixture_features(torch.randn(7, 5, 4).double(), weights), torch.randint(0, 9, (7,))


def test_its_logits_are_log_probabilities() -> None:
    head, features, _ = example()
    torch.testing.assert_close(head(features).exp().sum(-1), torch.ones(7).double())


def test_what_is_hidden_does_not_matter() -> None:
    head, features, _ = example()
    other = features.unflatten(-1, (5, 5)).clone()
    other[:, 4, :4] = 100
    torch.testing.assert_close(head(other.flatten(1)), head(features))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("piece", [1, 10, 4096])
def test_its_loss_is_the_cross_entropy_of_its_logits(
    smoothing: float, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "PIECE", piece)
    head, features, labels = example()
    features.requires_grad_()
    total, plain = head.loss(features, labels, smoothing)
    log_probs = head(features)
    likelihood = -log_probs.gather(1, labels[:, None]).sum()
    expected = (1 - smoothing) * likelihood - smoothing * log_probs.mean(1).sum()
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(plain, likelihood)
    torch.testing.assert_close(total, F.cross_entropy(log_probs, labels, reduction="sum", label_smoothing=smoothing))
    assert not plain.requires_grad
    inputs = [features, head.output.weight]
    for actual, wanted in zip(torch.autograd.grad(total, inputs), torch.autograd.grad(expected, inputs), strict=True):
        torch.testing.assert_close(actual, wanted)


def test_the_posterior_is_bayes_rule() -> None:
    head, features, labels = example()
    parts = features.unflatten(-1, (5, 5))
    joint = parts[..., 4].exp() * head.output(parts[..., :4]).softmax(-1)[torch.arange(7), :, labels]
    torch.testing.assert_close(head.posterior(features, labels), joint / joint.sum(-1, keepdim=True))


def test_a_posterior_over_nothing_is_zero() -> None:
    head, _, labels = example()
    nothing = mixture_features(torch.zeros(7, 5, 4).double(), torch.zeros(7, 5).double())
    assert not head.posterior(nothing, labels).any()


def test_a_linear_map_of_parts_is_that_of_their_concatenation() -> None:
    layer = torch.nn.Linear(6, 3)
    one, two, three = torch.randn(4, 1, 1), torch.randn(1, 5, 3), torch.randn(4, 5, 2)
    whole = torch.cat([one.expand(4, 5, 1), two.expand(4, 5, 3), three], -1)
    torch.testing.assert_close(linear_of_parts(layer, one, two, three), layer(whole))
