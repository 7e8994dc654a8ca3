"""Rerank finished hypotheses by how well they cover the source."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, ranked
from dragoman.errors import InputError
from dragoman.interfaces import Decoder, Encoded, Padded
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.tree import map_tensors


def coverage(
    weights: Float[Tensor, "rows target source"],
    target: Bool[Tensor, "rows target"],
    source: Bool[Tensor, "rows source"],
) -> Float[Tensor, " rows"]:
    """Sum over the source tokens log(min(1, attention received from all target tokens)) (Wu et al. 2016, equation 14).

    It is 0 if every source token was attended to with a total weight of at least 1, and negative otherwise; a source
    token that received nothing counts as the smallest positive number rather than minus infinity.

    >>> yes = torch.ones(1, 2, dtype=torch.bool)
    >>> coverage(torch.tensor([[[0.75, 0.25], [0.75, 0.25]]]), yes, yes).exp()
    tensor([0.5000])
    """
    received = (weights * target[:, :, None]).sum(1)
    logarithms = received.clamp(min=torch.finfo(weights.dtype).tiny, max=1.0).log()
    return logarithms.masked_fill(~source, 0.0).sum(-1)


@torch.no_grad()
def rerank(
    hypotheses: Hypotheses,
    decoder: Decoder,
    encoded: Encoded,
    *,
    beta: float,
    n_best: int,
    special: SpecialIds = SPECIAL_IDS,
    starts: Sequence[Sequence[int]] | None = None,
) -> Hypotheses:
    """Add `beta` * `coverage` to each score and keep the `n_best` highest.

    The weights are read by forced decoding, without logits, which would need much memory, and averaged over layers and heads.
    Deviation: Wu et al. 2016 score every step of the search so, this ranks complete hypotheses. Raises InputError if the model
    has no attention over the source.
    `starts` has what the translations of each sentence begin with after BOS, all of one length; its steps do not count.
    """
    found = hypotheses.alternatives()
    rows = [row for row, alternatives in enumerate(found) for _ in alternatives]
    before = starts or [()] * len(found)
    written = [[*start, *one.ids] for start, some in zip(before, found, strict=True) for one in some]
    target = _padded(written, encoded.states.device, special)
    index = torch.tensor(rows, device=encoded.states.device)
    encoded = map_tensors(lambda tensor: tensor.index_select(0, index), replace(encoded, penalty=None))
    output, _ = decoder(target.ids[:, :-1], decoder.start(encoded), need_weights=True)
    if output.attention is None:
        raise InputError("this model has no attention over the source; set decoding.coverage_penalty=0")
    begun = len(before[0]) if before else 0
    weights = output.attention.float().mean((1, 2))[:, begun:]
    penalties = coverage(weights, target.mask[:, begun + 1 :], encoded.mask).tolist()
    rescored: list[list[Hypothesis]] = [[] for _ in found]
    for row, one, penalty in zip(rows, (one for some in found for one in some), penalties, strict=True):
        rescored[row].append(replace(one, score=one.score + beta * penalty))
    return ranked(rescored, n_best)


def _padded(sequences: list[list[int]], device: torch.device, special: SpecialIds) -> Padded:
    """Put BOS and EOS around each sequence, and PAD after."""
    longest = max(len(ids) for ids in sequences)
    rows = [[special.bos, *ids, special.eos] + [special.pad] * (longest - len(ids)) for ids in sequences]
    lengths = torch.tensor([len(ids) + 2 for ids in sequences], device=device)
    return Padded(torch.tensor(rows, device=device), torch.arange(longest + 2, device=device) < lengths[:, None])
