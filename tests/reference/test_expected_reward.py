"""The gradient of the expected reward against enumeration: every translation, and every pair of samples."""

from itertools import combinations, product
from unittest.mock import patch

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, Architecture
from torch import Tensor

from dragoman.decoding import Hypotheses, Hypothesis
from dragoman.interfaces import BOS, EOS, PAD, Batch, Padded
from dragoman.laws.examples import source
from dragoman.metrics.gleu import sentence_gleu
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.training import expected_reward
from dragoman.training.expected_reward import expected_cost
from dragoman.training.expected_reward_settings import RewardSettings

VOCABULARY = 5
PAIR = Batch(source([2]), Padded(torch.tensor([[BOS, 4, EOS]]), torch.ones(1, 3, dtype=torch.bool)))
REFERENCE = [4]
LIMIT = 2
TOKENS = [token for token in range(VOCABULARY) if token not in (PAD, BOS, EOS)]
EVERY = [list(ids) for length in range(LIMIT + 1) for ids in product(TOKENS, repeat=length)]
TINY: dict[str, Architecture] = {
    name: ARCHITECTURES[name].model_copy(update={"dropout": 0.0})
    for name in ("gnmt, cosine, tied, fewer layers", "luong additive", "transformer, target tied")
}


def log_probability(model: Seq2Seq, ids: list[int]) -> Tensor:
    """Log-probability of drawing `ids` token by token; what is as long as the limit ends there without a choice."""
    total = torch.zeros((), dtype=torch.float64)
    for position, token in enumerate([*ids, EOS][:LIMIT]):
        logits = model(PAIR.source, torch.tensor([[BOS, *ids[:position]]])).logits[0, -1]
        allowed = [EOS, *TOKENS]
        total = total + logits[allowed].log_softmax(0)[allowed.index(token)]
    return total


@pytest.mark.parametrize("name", TINY)
def test_the_gradient_is_that_of_the_expected_reward(name: str) -> None:
    """Wu et al. 2016, equation 8: its mean over all pairs of samples is the gradient of sum_Y P(Y) r(Y)."""
    torch.manual_seed(4)
    model = build_model(TINY[name], Vocabularies(13, VOCABULARY)).double().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    parameters = list(model.parameters())
    log_probs = [log_probability(model, ids) for ids in EVERY]
    assert torch.stack(log_probs).exp().sum().item() == pytest.approx(1)
    rewards = [sentence_gleu(ids, REFERENCE) for ids in EVERY]
    exact = sum(log_prob.exp() * reward for log_prob, reward in zip(log_probs, rewards, strict=True))
    gradients = torch.autograd.grad(-exact, parameters, allow_unused=True)
    value, estimates = 0.0, [torch.zeros_like(parameter) for parameter in parameters]
    for ids, log_prob in zip(EVERY, log_probs, strict=True):
        value += (2 * log_prob).exp().item() * _cost_of([ids, ids], model).item()  # equal rewards have no gradient
    for (one, p), (other, q) in combinations(zip(EVERY, log_probs, strict=True), 2):
        probability = 2 * (p + q).exp().item()  # in either order
        cost = _cost_of([one, other], model)
        value += probability * cost.item()
        for whole, part in zip(estimates, torch.autograd.grad(cost, parameters, allow_unused=True), strict=True):
            whole += 0 if part is None else probability * part
    assert value == pytest.approx(-exact.item())
    assert sum(float(gradient.abs().sum()) for gradient in gradients if gradient is not None) > 0.05
    for estimate, gradient in zip(estimates, gradients, strict=True):
        torch.testing.assert_close(estimate, torch.zeros_like(estimate) if gradient is None else gradient)


def _cost_of(drawn: list[list[int]], model: Seq2Seq) -> Tensor:
    """The cost where these are the samples drawn."""
    settings = RewardSettings(samples=len(drawn), maximum_ratio=LIMIT / 2)
    found = Hypotheses([[Hypothesis(ids, 0.0, 0.0) for ids in drawn]])
    with patch.object(expected_reward, "sample", lambda *_, **__: found):
        return expected_cost(model, PAIR, settings)
