"""Hard attention: select one key instead of averaging over many (Xu et al. 2015, section 4.1).

Inference takes the key with the largest weight. Training samples one, with REINFORCE or with straight-through
Gumbel-softmax. The third way to train, the exact sum over all choices, is an output layer: `layers/mixture.py`.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.attend import as_distribution, normalize
from dragoman.attention.settings import HardSettings
from dragoman.interfaces import Choice

Weights = Float[Tensor, "batch head query key"]


def argmax_one_hot(weights: Weights) -> Weights:
    """Put all weight on the largest weight, the leftmost one of a tie. A row of zeros stays zero.

    >>> argmax_one_hot(torch.tensor([[[[0.2, 0.5, 0.3]]]])).tolist()
    [[[[0.0, 1.0, 0.0]]]]
    """
    return _one_hot(weights.argmax(-1), weights)


def straight_through(weights: Weights, temperature: float) -> Weights:
    """Sample one key from the weights; the gradient is that of a softmax (Jang et al. 2017, section 2.2).

    Forward, a one-hot vector at argmax(log w + g) with Gumbel noise g; backward, softmax((log w + g) / temperature).
    """
    noise = -torch.empty_like(weights).exponential_().clamp_min(torch.finfo(weights.dtype).tiny).log()
    noisy = weights.clamp_min(torch.finfo(weights.dtype).tiny).log() + noise
    soft = normalize(noisy / temperature, weights > 0)
    return _one_hot(soft.argmax(-1), weights) + soft - soft.detach()


def sample_reinforce(weights: Weights, settings: HardSettings) -> tuple[Weights, Choice]:
    """Sample one key per query for REINFORCE; a share of the queries keeps the soft average instead.

    Deviation from Xu et al. 2015, section 4.1: their release tosses the coin for soft or hard once per batch; here each
    target position has its own coin, with the same expectation and less variance.
    """
    probabilities = as_distribution(weights)
    rows = probabilities.detach().flatten(0, 2)
    seen = rows.sum(-1) > 0
    index = torch.multinomial(torch.where(seen[:, None], rows, 1.0), 1).view(weights.shape[:-1])
    soft = torch.rand(weights.shape[0], 1, weights.shape[2], device=weights.device) < settings.soft_share
    logs = probabilities.clamp_min(torch.finfo(weights.dtype).tiny).log()
    hard = ~soft & seen.view(index.shape)
    log_prob = logs.gather(-1, index[..., None]).squeeze(-1) * hard
    entropy = -(probabilities * logs).sum(-1)
    taken = torch.where(soft[..., None], weights, _one_hot(index, weights))
    return taken, Choice(log_prob.sum(1), entropy.sum(1))


def sum_choices(choices: Sequence[Choice]) -> Choice:
    """Add up what several attention layers sampled for the same target positions."""
    return Choice(
        torch.stack([choice.log_prob for choice in choices]).sum(0),
        torch.stack([choice.entropy for choice in choices]).sum(0),
    )


def _one_hot(index: Tensor, weights: Weights) -> Weights:
    """Put 1 at `index`, except in rows of queries that see nothing."""
    return F.one_hot(index, weights.shape[-1]).to(weights.dtype) * (weights.sum(-1, keepdim=True) > 0)


class Reinforcement(nn.Module):
    """The term that sampled positions add to the loss, so that its gradient is that of the expected cost (REINFORCE).

    The position sampled for a target token is credited with the costs of that token and all later ones, the only ones it
    influences: sum_t scale (sum_{t' >= t} (cost_t' - baseline)) log p(position_t) - bonus entropy_t. Source: Xu et al. 2015,
    section 4.1. Deviations: the paper's reward is that of the whole sentence (same expectation, more variance); the
    baseline, a moving average of costs, is per token, and a buffer of the model so that it is saved with the weights.
    """

    baseline: Float[Tensor, ""]

    def __init__(self, settings: HardSettings) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("baseline", torch.zeros(()))

    def forward(
        self,
        costs: Float[Tensor, "batch target"],
        choice: Choice,
        real: Bool[Tensor, "batch target"],
    ) -> Float[Tensor, ""]:
        """Return the sum over real tokens and update the baseline; `costs` are negative log-probabilities."""
        settings = self.settings
        advantage = (costs.detach() - self.baseline) * real
        to_come = advantage.flip(1).cumsum(1).flip(1)
        rewarded = settings.reward_scale * to_come * choice.log_prob - settings.entropy_bonus * choice.entropy
        mean = (costs.detach() * real).sum() / real.sum()
        self.baseline.lerp_(mean.to(self.baseline.dtype), 1 - settings.baseline_decay)
        return (rewarded * real).sum()
