"""Supervise one attention head with word alignments while the model learns to translate."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.machine.dtypes import upcast
from dragoman.training.settings import GuidedSettings


def alignment_loss(
    attention: Float[Tensor, "batch layer head target source"],
    links: Bool[Tensor, "batch target source"],
    guided: GuidedSettings,
) -> Float[Tensor, ""]:
    """Return the cross-entropy between one head's weights and the links, summed over linked target tokens.

    Source: Garg et al. 2019, equation 2; a token's links share its probability evenly, and a token without links is ignored.
    Deviations: the sum is divided, like the translation loss, by all target tokens of a step, not by those of each sentence.
    The paper shows the head the whole target in a second pass without the causal mask; here, with `shift`, the step that
    reads the token is supervised (Chen et al. 2020), so one pass is enough. The weights are those before dropout; a link
    with weight exactly 0 from sparse attention has no gradient.
    """
    weights = upcast(attention)[:, guided.layer - 1, guided.head - 1]
    if guided.shift:
        weights, links = weights[:, 1:], links[:, :-1]  # the dropped row of `links` is that of </s>, which has no links
    surprise = -weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
    shares = links / links.sum(-1, keepdim=True).clamp(min=1)
    return (surprise * shares).sum()
