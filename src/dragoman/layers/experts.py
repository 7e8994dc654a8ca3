"""The sparsely gated mixture of experts (Shazeer et al. 2017): many feed-forward networks, a few for each token."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.layers.dropout import Dropout
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.machine.dtypes import upcast
from dragoman.special_ids import SpecialIds

LEAST_NOISE = 0.01
"""Added to the standard deviation of the noise, as in the authors' code (tensor2tensor), but not in the paper."""


@dataclass(frozen=True)
class Routing:
    """Which token goes to which expert, and the gate value, which multiplies the expert's output."""

    tokens: Int[Tensor, " routes"]
    experts: Int[Tensor, " routes"]
    weights: Float[Tensor, " routes"]
    load: Float[Tensor, " experts"] | None = None
    """In training with noise: the expected number of tokens per expert, differentiable; None if it is exactly even."""
    threshold_loss: Float[Tensor, ""] | None = None
    """In training with balanced gates: the loss that trains their thresholds."""


@dataclass(frozen=True)
class ExpertOutput:
    """The output states and, in training, the penalty for imbalanced experts that the objective adds."""

    states: Float[Tensor, "batch time width"]
    penalty: Float[Tensor, ""] | None = None


class NoisyGate(nn.Module):
    """Noisy top-k gating: H(x)_i = (x W_g)_i + N(0, 1) softplus((x W_noise)_i), softmax over the k largest.

    Source: section 2.1, equations 3 to 5; both matrices start at zero (appendix A). Noise is added in training only.
    """

    def __init__(self, width: int, choices: int, active: int) -> None:
        super().__init__()
        self.active = active
        self.choose = nn.Linear(width, choices, bias=False)
        self.noise = nn.Linear(width, choices, bias=False)
        nn.init.zeros_(self.choose.weight)
        nn.init.zeros_(self.noise.weight)

    def forward(self, states: Float[Tensor, "tokens width"]) -> Routing:
        """Route each token to `active` of the choices."""
        clean = upcast(self.choose(states))
        deviation: Tensor | None = None
        scores = clean
        if self.training:
            deviation = nn.functional.softplus(upcast(self.noise(states))) + LEAST_NOISE
            scores = clean + torch.randn_like(clean) * deviation
        best, experts = scores.topk(self.active + 1, -1)
        chosen = experts[:, : self.active]
        return Routing(
            torch.arange(len(states), device=states.device).repeat_interleave(self.active),
            chosen.flatten(),
            best[:, : self.active].softmax(-1).flatten(),
            None if deviation is None else self._load(clean, deviation, best, chosen=chosen),
        )

    def _load(
        self,
        clean: Float[Tensor, "tokens choices"],
        deviation: Float[Tensor, "tokens choices"],
        best: Float[Tensor, "tokens some"],
        *,
        chosen: Int[Tensor, "tokens active"],
    ) -> Float[Tensor, " choices"]:
        """Sum the probability that each choice is among the top k when its own noise is resampled (equations 8 to 10)."""
        inside = torch.zeros_like(clean, dtype=torch.bool).scatter(1, chosen, True)
        others = torch.where(inside, best[:, self.active, None], best[:, self.active - 1, None])
        return torch.special.ndtr((clean - others) / deviation).sum(0)


class BalancedGate(nn.Module):
    """Strictly balanced gating: a softmax over all choices, masked and renormalised (appendix F, equations 15 to 20).

    In training each choice takes the m = k |X| / n tokens (rounded, at least one) that score it highest, so a token may get
    more than k choices, or none. At inference a token gets the choices whose share exceeds their threshold. Deviations: a
    token above no threshold then gets its best choice, so that none is dropped; equation 20 is divided by |X| n and trains
    only the thresholds, so it needs no weight; thresholds start at 1/n and W_g at random (the paper says neither), since
    with zeros all choices would take the same tokens.
    """

    def __init__(self, width: int, choices: int, active: int) -> None:
        super().__init__()
        self.active = active
        self.choose = nn.Linear(width, choices, bias=False)
        self.threshold = nn.Parameter(torch.full((choices,), 1 / choices))
        nn.init.xavier_uniform_(self.choose.weight)

    def forward(self, states: Float[Tensor, "tokens width"]) -> Routing:
        """Route tokens to as many choices as the batch (training) or the thresholds (inference) allow."""
        shares = upcast(self.choose(states)).softmax(-1)
        threshold_loss: Tensor | None = None
        above = shares.detach() > self.threshold
        if self.training:
            mask = self._best_of_each(shares)
            threshold_loss = ((above.float() - mask.float()) * (shares.detach() - self.threshold)).mean()
        else:
            best = torch.zeros_like(above).scatter(1, shares.argmax(1, keepdim=True), True)
            mask = above | (best & ~above.any(1, keepdim=True))
        kept = shares * mask
        tokens, experts = mask.nonzero(as_tuple=True)
        return Routing(tokens, experts, kept[tokens, experts] / kept.sum(1)[tokens], threshold_loss=threshold_loss)

    def _best_of_each(self, shares: Float[Tensor, "tokens choices"]) -> Bool[Tensor, "tokens choices"]:
        """Mark the m tokens that each choice takes."""
        count, choices = shares.shape
        each = min(count, max(1, round(self.active * count / choices)))
        return torch.zeros_like(shares, dtype=torch.bool).scatter(0, shares.topk(each, 0).indices, True)


class TwoLevelGate(nn.Module):
    """A gate that chooses groups, and one gate per group that chooses its experts (appendix B, equations 12 to 14).

    The gate value of an expert is the product of both. The load of an expert is that of its group times its own load among
    the group's tokens, divided by their number.
    """

    def __init__(self, width: int, settings: ExpertSettings, groups: int) -> None:
        super().__init__()
        kind = NoisyGate if settings.gate == "noisy" else BalancedGate
        self.size = settings.experts // groups
        self.first = kind(width, groups, settings.active)
        self.second = nn.ModuleList(kind(width, self.size, settings.active) for _ in range(groups))

    def forward(self, states: Float[Tensor, "tokens width"]) -> Routing:
        """Route each token to experts of its groups."""
        first: Routing = self.first(states)
        parts: list[Routing] = []
        loads: list[Tensor] = []
        for group, gate in enumerate(self.second):
            mine = (first.experts == group).nonzero().squeeze(1)
            tokens = first.tokens[mine]
            if len(tokens) == 0:
                loads += [] if first.load is None else [first.load.new_zeros(self.size)]
                continue
            within: Routing = gate(states[tokens])
            weights = first.weights[mine][within.tokens] * within.weights
            experts = group * self.size + within.experts
            parts.append(Routing(tokens[within.tokens], experts, weights, threshold_loss=within.threshold_loss))
            if first.load is not None and within.load is not None:
                loads.append(first.load[group] * within.load / len(tokens))
        return Routing(
            torch.cat([part.tokens for part in parts]),
            torch.cat([part.experts for part in parts]),
            torch.cat([part.weights for part in parts]),
            torch.cat(loads) if loads else None,
            sum_penalties([first.threshold_loss, *(part.threshold_loss for part in parts)]),
        )


class Experts(nn.Module):
    """y = sum_i G(x)_i E_i(x), over the experts whose gate is not 0; E(x) = max(0, x W_1) W_2 (equation 1, appendix E).

    Every expert processes only the tokens routed to it. Padding is routed to none and gets 0. In training,
    `ExpertOutput.penalty` keeps experts balanced (section 4): for importance, the sum of an expert's gates, and for load,
    weight times the squared coefficient of variation over the experts; plus the loss of the thresholds.
    """

    def __init__(self, width: int, inner: int, settings: ExpertSettings, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        if settings.groups is not None:
            self.gate: nn.Module = TwoLevelGate(width, settings, settings.groups)
        else:
            kind = NoisyGate if settings.gate == "noisy" else BalancedGate
            self.gate = kind(width, settings.experts, settings.active)
        self.inner = nn.Parameter(torch.empty(settings.experts, width, inner))
        self.outer = nn.Parameter(torch.empty(settings.experts, inner, width))
        self.dropout = Dropout(dropout)
        for matrix in (*self.inner.data, *self.outer.data):
            nn.init.xavier_uniform_(matrix)

    def forward(
        self, states: Float[Tensor, "batch time width"], real: Bool[Tensor, "batch time"] | None = None
    ) -> ExpertOutput:
        """Apply to each real token its experts; by default every token is real."""
        real = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device) if real is None else real
        tokens = states[real]
        result = torch.zeros_like(states)
        if len(tokens) == 0:
            return ExpertOutput(result)
        routes: Routing = self.gate(tokens)

        # Sorted by expert, so that each expert processes its tokens in one matrix product.
        order = routes.experts.argsort(stable=True)
        counts = routes.experts.bincount(minlength=self.settings.experts).tolist()
        sent = routes.tokens[order]
        read = tokens.index_select(0, sent).split(counts)
        networks = zip(read, self.inner.unbind(0), self.outer.unbind(0), strict=True)
        said = torch.cat([self.dropout(torch.relu(own @ inner)) @ outer for own, inner, outer in networks if len(own)])
        weighted = said * routes.weights[order, None]
        result[real] = torch.zeros_like(tokens).index_add(0, sent, weighted.to(tokens.dtype))
        return ExpertOutput(result, self._penalty(routes) if self.training else None)

    def _penalty(self, routes: Routing) -> Float[Tensor, ""]:
        """Return the penalty that keeps the experts balanced."""
        empty = routes.weights.new_zeros(self.settings.experts)
        penalty = self.settings.importance * squared_cv(empty.index_add(0, routes.experts, routes.weights))
        if routes.load is not None:
            penalty = penalty + self.settings.load * squared_cv(routes.load)
        return penalty if routes.threshold_loss is None else penalty + routes.threshold_loss


def transform(
    network: nn.Module, states: Float[Tensor, "batch time width"], real: Bool[Tensor, "batch time"] | None
) -> ExpertOutput:
    """Run a feed-forward network, or experts, which need to know the real tokens."""
    return network(states, real) if isinstance(network, Experts) else ExpertOutput(network(states))


def real_inputs(tokens: Int[Tensor, "batch target"], special: SpecialIds) -> Bool[Tensor, "batch target"]:
    """Tell which input tokens of a decoder predict something: all but padding and the EOS before it.

    >>> real_inputs(torch.tensor([[7, 2, 0]]), SpecialIds()).int().tolist()
    [[1, 0, 0]]
    """
    return (tokens != special.pad) & (tokens != special.eos)


def squared_cv(numbers: Float[Tensor, " experts"]) -> Float[Tensor, ""]:
    """Return the squared coefficient of variation, variance over squared mean (equation 7); 0 if all are 0.

    >>> squared_cv(torch.tensor([1.0, 3.0]))
    tensor(0.2500)
    """
    return numbers.var(correction=0) / (numbers.mean() ** 2 + 1e-10)


def sum_penalties(penalties: Iterable[Float[Tensor, ""] | None]) -> Float[Tensor, ""] | None:
    """Add up the penalties that are not None.

    >>> sum_penalties([None, torch.tensor(1.0), torch.tensor(2.0)]), sum_penalties([None])
    (tensor(3.), None)
    """
    given = [penalty for penalty in penalties if penalty is not None]
    return torch.stack(given).sum() if given else None
