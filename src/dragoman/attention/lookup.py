"""From scores to the average: window, weights, hard choice. Everything in attention except scoring."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention import hard
from dragoman.attention.attend import average, normalize
from dragoman.attention.local import Window
from dragoman.attention.settings import HardSettings, WeightsName, WindowSettings
from dragoman.attention.watching import Look, watcher
from dragoman.interfaces import Choice, KeyValues


@dataclass(frozen=True)
class LookupOptions:
    """How scores are used: how they become weights, within which window, and whether one key is selected."""

    weights: WeightsName = "softmax"
    window: WindowSettings | None = None
    hard: HardSettings | None = None


@dataclass(frozen=True)
class LookupResult:
    """The average of the values for each query and head, the weights used, and what was sampled."""

    context: Float[Tensor, "batch head query dim"]
    weights: Float[Tensor, "batch head query key"]
    choice: Choice | None = None


class Lookup(nn.Module):
    """Narrow the mask to a window, turn scores into weights, apply the Gaussian, select a key, average the values."""

    def __init__(self, query_dim: int, kind: LookupOptions, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.kind = kind
        self.dropout = dropout
        self.window = None if kind.window is None else Window(kind.window, query_dim)

    @property
    def plain(self) -> bool:
        """Tell whether this is only a softmax and an average, which a fused kernel can compute; another class may do more."""
        return type(self) is Lookup and self.kind == LookupOptions()

    def forward(
        self,
        queries: Float[Tensor, "batch head query query_dim"],
        scores: Float[Tensor, "batch head query key"],
        memory: KeyValues,
        *,
        mask: Bool[Tensor, "#batch #head #query key"] | None,
        offset: int = 0,
        copies: int = 1,
    ) -> LookupResult:
        """Average the values; `queries` produced `scores` and are `copies` copies of the positions from `offset` on."""
        gaussian: Tensor | None = None
        if self.window is not None:
            everything = torch.ones(1, 1, 1, scores.shape[-1], dtype=torch.bool, device=scores.device)
            mask, gaussian = self.window(queries, everything if mask is None else mask, offset, copies=copies)
        weights = normalize(scores, mask, self.kind.weights)
        if gaussian is not None:
            weights = weights * gaussian
        weights, choice = self._choose(weights)
        if (watch := watcher()) is not None:
            weights = watch(self, Look(queries, scores, mask, memory, weights))
        return LookupResult(average(weights, memory.values, self.dropout if self.training else 0.0), weights, choice)

    def _choose(
        self, weights: Float[Tensor, "batch head query key"]
    ) -> tuple[Float[Tensor, "batch head query key"], Choice | None]:
        """Select one key for each query if attention is hard."""
        settings = self.kind.hard
        if settings is None:
            return weights, None
        if not self.training:
            return hard.argmax_one_hot(weights), None
        if settings.training == "gumbel":
            return hard.straight_through(weights, settings.temperature), None
        return hard.sample_reinforce(weights, settings)
