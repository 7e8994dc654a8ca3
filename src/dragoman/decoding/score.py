"""Forced decoding: the log-probabilities of given translations."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.interfaces import Decoder, Encoded, Padded


@dataclass(frozen=True)
class TargetScores:
    """Log-probabilities of given translations, per token (EOS included, 0 on padding) and per sentence."""

    tokens: Float[Tensor, "batch target"]
    log_prob: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch layer head target source"] | None = None
    entropies: Float[Tensor, "batch target"] | None = None
    """Entropy of the model's distribution at each token in nats, 0 on padding; if requested."""


@torch.no_grad()
def score_target(
    decoder: Decoder, encoded: Encoded, target: Padded, *, need_weights: bool = False, need_entropies: bool = False
) -> TargetScores:
    """Score the translations `target`, which run from BOS to EOS, all positions at once and in float32."""
    output, _ = decoder(target.ids[:, :-1], decoder.start(encoded), need_weights=need_weights)
    log_probs = output.logits.float().log_softmax(-1)
    padding = ~target.mask[:, 1:]
    tokens = log_probs.gather(-1, target.ids[:, 1:, None]).squeeze(-1).masked_fill(padding, 0.0)
    entropies = None
    if need_entropies:
        entropies = torch.special.entr(log_probs.exp()).sum(-1).masked_fill(padding, 0.0)
    return TargetScores(tokens, tokens.sum(-1), output.attention, entropies)
