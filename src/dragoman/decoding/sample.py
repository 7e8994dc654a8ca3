"""Drawing translations from the model's distribution."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils import parametrize

from dragoman.decoding.constraints import Constraint, constrain, constraints_from
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, ranked
from dragoman.decoding.settings import DecodingSettings
from dragoman.interfaces import BOS, EOS, Step


@torch.no_grad()
@parametrize.cached()
def sample(
    step: Step,
    state: Any,
    maximum: Int[Tensor, " batch"],
    *,
    settings: DecodingSettings,
    generator: torch.Generator,
    constraints: Sequence[Constraint] = (),
    begin: Int[Tensor, " batch"] | None = None,
) -> Hypotheses:
    """Draw `n_best` translations of each sentence, token by token, and rank them by score; some may be equal.

    Arguments are those of `beam_search`. `generator` is on the device of `maximum`; the same generator state and the
    same batch give the same draw. Temperature, top-k and top-p shape the draw alone: log-probabilities are the model's.
    """
    rules, copies = [*constraints_from(settings), *constraints], settings.n_best
    rows = torch.arange(len(maximum) * copies, device=maximum.device)
    first = torch.full((len(maximum),), BOS, device=maximum.device) if begin is None else begin
    ids, log_prob = first.repeat_interleave(copies)[:, None], torch.zeros(len(rows), device=maximum.device)
    state = state.repeat(copies)
    found: list[list[Hypothesis]] = [[] for _ in range(len(maximum))]
    while len(rows) > 0:
        logits, state = step(ids[:, -1:], state)
        log_probs = logits.log_softmax(-1)
        sentences = rows // copies
        at_limit = maximum[sentences] <= ids.shape[1] - 1
        allowed = constrain(rules, ids[:, 1:], log_probs, sentences=sentences, at_limit=at_limit)
        tokens = torch.multinomial(shape(allowed, settings).exp(), 1, generator=generator)
        ids, log_prob = torch.cat([ids, tokens], 1), log_prob + log_probs.gather(1, tokens).squeeze(1)
        ended = tokens.squeeze(1) == EOS
        if ended.any():
            scores = settings.normalise(log_prob[ended], ids.shape[1] - 1)
            drawn = zip(ids[ended, 1:-1].tolist(), log_prob[ended].tolist(), scores.tolist(), strict=True)
            for sentence, one in zip(sentences[ended].tolist(), drawn, strict=True):
                found[sentence].append(Hypothesis(*one))
            rows, ids, log_prob = rows[~ended], ids[~ended], log_prob[~ended]
            state = state.select((~ended).nonzero().squeeze(1))
    return ranked(found, copies)


def shape(log_probs: Float[Tensor, "rows vocab"], settings: DecodingSettings) -> Float[Tensor, "rows vocab"]:
    """Apply temperature, then keep the `top_k` likeliest tokens, then the nucleus of `top_p`, and normalise.

    >>> even = torch.tensor([[0.5, 0.3, 0.2]]).log()
    >>> shape(even, DecodingSettings(method="sample", top_p=0.6)).exp()
    tensor([[0.6250, 0.3750, 0.0000]])
    """
    shaped = (log_probs / settings.temperature).log_softmax(-1)
    if 0 < settings.top_k < shaped.shape[-1]:
        least = shaped.topk(settings.top_k).values[:, -1:]
        shaped = shaped.masked_fill(shaped < least, -torch.inf).log_softmax(-1)
    if settings.top_p < 1:
        ordered, places = shaped.sort(descending=True)
        before = ordered.exp().cumsum(-1) - ordered.exp()
        outside = torch.zeros_like(before, dtype=torch.bool).scatter(1, places, before >= settings.top_p)
        shaped = shaped.masked_fill(outside, -torch.inf).log_softmax(-1)
    return shaped
