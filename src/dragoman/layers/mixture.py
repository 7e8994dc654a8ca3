"""An output layer that sums over source positions: p(y) = sum_a p(a) p(y | a)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dragoman.attention.attend import as_distribution, normalize
from dragoman.layers.embedding import OutputLayer
from dragoman.layers.linear import linear
from dragoman.machine.dtypes import upcast

PIECE = 4096
"""Number of predictions (target tokens times source positions) whose logits exist at one time."""

HIDDEN = torch.finfo(torch.float32).min
"""Represents the logarithm of a weight of 0."""


def mixture_features(
    features: Float[Tensor, "*batch key dim"], weights: Float[Tensor, "*batch key"]
) -> Float[Tensor, "*batch packed"]:
    """Pack the features of each source position, followed by the logarithm of its probability, into one vector.

    Probabilities are proportional to the weights.

    >>> mixture_features(torch.tensor([[7.0], [8.0]]), torch.tensor([1.0, 0.0]))[:3].tolist()
    [7.0, 0.0, 8.0]
    """
    probabilities = as_distribution(weights)
    logs = torch.where(weights > 0, probabilities.clamp_min(torch.finfo(weights.dtype).tiny).log(), HIDDEN)
    return torch.cat([features, logs[..., None]], -1).flatten(-2)


class MixtureHead(nn.Module):
    """Sum the probabilities that `output` gives at each source position (Deng et al. 2018, section 3; exact, not sampled).

    Its features are those of `mixture_features`, its logits are log-probabilities.
    """

    needs_weights = True

    def __init__(self, output: OutputLayer) -> None:
        super().__init__()
        self.output = output

    def forward(self, features: Float[Tensor, "*batch packed"]) -> Float[Tensor, "*batch vocab"]:
        """Return the logarithm of the summed probabilities."""
        parts, logs = self._unpacked(features)
        return (upcast(self.output(parts)).log_softmax(-1) + logs[..., None]).logsumexp(-2)

    def loss(
        self, features: Float[Tensor, "tokens packed"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the label-smoothed and the plain cross-entropy, both summed over tokens; logits exist chunk by chunk."""
        total = plain = features.new_zeros(())
        rows = self.rows_at_once(features)
        for piece, own in zip(features.split(rows), labels.split(rows), strict=True):
            costs = checkpoint(self._costs, piece, own, smoothing, use_reentrant=False)
            total, plain = total + costs[0], plain + costs[1].detach()
        return total, plain

    def rows_at_once(self, features: Float[Tensor, "tokens packed"]) -> int:
        """Return the number of tokens whose logits may exist at one time."""
        return max(1, PIECE // (features.shape[-1] // self._size()))

    def posterior(
        self, features: Float[Tensor, "batch packed"], labels: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch key"]:
        """Return p(a | y), which is proportional to p(a) p(y | a); zeros where no position has any weight."""
        parts, logs = self._unpacked(features)
        return normalize(logs + self._log_probs(parts, labels), logs > HIDDEN / 2)

    def _costs(self, features: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        """Sum both costs over the tokens of one chunk."""
        if smoothing:
            mixed = self(features)
            plain = -mixed.gather(-1, labels[:, None]).sum()
            return (1 - smoothing) * plain - smoothing * mixed.mean(-1).sum(), plain
        parts, logs = self._unpacked(features)
        plain = -(self._log_probs(parts, labels) + logs).logsumexp(-1).sum()
        return plain, plain

    def _log_probs(
        self, parts: Float[Tensor, "tokens key dim"], labels: Int[Tensor, " tokens"]
    ) -> Float[Tensor, "tokens key"]:
        """Return log p(y | a) of one label per token, from each position."""
        logits = upcast(self.output(parts))
        own = logits.gather(-1, labels[:, None, None].expand(-1, parts.shape[1], 1)).squeeze(-1)
        return own - logits.logsumexp(-1)

    def _unpacked(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Undo `mixture_features`; the second result is the logarithms of the probabilities."""
        parts = features.unflatten(-1, (-1, self._size()))
        return parts[..., :-1], upcast(parts[..., -1])

    def _size(self) -> int:
        """Return the number of features per source position."""
        return self.output.weight.shape[1] + 1


def linear_of_parts(layer: nn.Linear, *parts: Float[Tensor, "*_ _"]) -> Float[Tensor, "*_ _"]:
    """Apply `layer` to the concatenation of `parts`, whose leading axes may broadcast: W [x; y] = W_x x + W_y y.

    >>> layer = nn.Linear(3, 2)
    >>> x, y = torch.ones(4, 1, 1), torch.ones(5, 2)
    >>> linear_of_parts(layer, x, y).shape
    torch.Size([4, 5, 2])
    """
    sizes = [part.shape[-1] for part in parts]
    mapped = [linear(part, weight, None) for part, weight in zip(parts, layer.weight.split(sizes, 1), strict=True)]
    total = mapped[0] if layer.bias is None else mapped[0] + layer.bias
    for more in mapped[1:]:
        total = total + more
    return total
