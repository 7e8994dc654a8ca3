"""An example of a plugin: one of each kind. docs/extend.md walks through it."""

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.attention.relative import Relative, distances
from dragoman.attention.scores import Score
from dragoman.interfaces import Batch, Loss
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.plugins import Plugin
from dragoman.training.objectives import rows_at


class LowRank(Score):
    """Scores by (U q)^T (V k) / sqrt(r), a `general` score whose matrix has rank r."""

    formula = "(U s)ᵀ V h / √r"

    def __init__(self, query_dim: int, key_dim: int, rank: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, rank, bias=False)
        self.key = nn.Linear(key_dim, rank, bias=False)
        self.scale = 1 / math.sqrt(rank)

    def prepare(self, keys: Tensor) -> Tensor:
        """Project the keys once for each source sentence."""
        return self.key(keys)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score every query against every prepared key."""
        return self.query(queries) @ keys.transpose(-1, -2) * self.scale


def build_low_rank(query_dim: int, key_dim: int, *, hidden: int, positions: int) -> Score:
    """Make the score; `hidden` and `positions` are for scores that need them."""
    return LowRank(query_dim, key_dim, rank=4)


class HalvingPositions(nn.Module):
    """Adds a learned direction, half as long at each further position."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.randn(width))

    def forward(self, states: Tensor, offset: int = 0) -> Tensor:
        """Add the positions offset, offset + 1, ... to states of batch x time x width."""
        places = torch.arange(offset, offset + states.shape[1], device=states.device)
        return states + (0.5**places)[:, None].to(states.dtype) * self.direction


class NearBias(Relative):
    """Adds a learned number, one for each head, to the scores of the keys next to a query and at its own position."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(heads))

    def bias(self, queries: Tensor, offset: int, keys: int) -> Tensor:
        """Return what is added to scores of batch x head x query x key; the first query is at position `offset`."""
        near = distances(offset, queries.shape[2], keys, device=queries.device).abs() <= 1
        return (near * self.weight[:, None, None]).to(queries.dtype)[None]


class TinySettings(RecurrentSettings):
    """A recurrent model with sizes of its own."""

    kind: Literal["tiny"] = "tiny"  # type: ignore[assignment]
    embedding: int = 16
    hidden: int = 16


def build_tiny(settings: TinySettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Make the model; any encoder and decoder that keep the protocols of dragoman.interfaces will do."""
    return build_rnn(settings, vocabularies)


def build_focal(training: Any) -> Callable[[Seq2Seq, Batch], Loss]:
    """Make the focal loss (Lin et al. 2017, equation 4, gamma = 2), which looks away from tokens that are easy."""

    def focal_loss(model: Seq2Seq, batch: Batch) -> Loss:
        output = model(batch.source, batch.inputs)
        features, labels = rows_at(output.features, batch.label_positions), rows_at(batch.labels, batch.label_positions)
        log_probs = output.head(features).log_softmax(-1).gather(-1, labels[:, None]).squeeze(-1)
        return Loss(-((1 - log_probs.exp()) ** 2 * log_probs).sum(), len(labels), -log_probs.detach().sum())

    return focal_loss


PLUGINS = (
    Plugin("score", "low_rank", build_low_rank),
    Plugin("relative", "near", lambda *, heads, head_dim, causal: NearBias(heads)),
    Plugin("positions", "halving", lambda width, count: HalvingPositions(width)),
    Plugin("model", "tiny", build_tiny, settings=TinySettings),
    Plugin("objective", "focal", build_focal),
)
