"""One head that learns word links while the model learns to translate."""

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
    """Return the cross-entropy of one head's weights and the links, summed over linked target tokens.

    Source: Garg et al. 2019, equation 2; a token's links share its probability evenly, and a token without any says nothing.
    Deviations: the sum is divided by all target tokens of a step, with that of the translation, not by those of each
    sentence. The paper shows the head the whole target in a second pass without the causal mask; here, with `shift`, it is
    the step that reads the token (Chen et al. 2020), which knows it in the one pass that there is. The weights are
    those before dropout; where sparse attention gives a link exactly 0, that link teaches nothing.
    """
    weights = upcast(attention)[:, guided.layer - 1, guided.head - 1]
    if guided.shift:
        weights, links = weights[:, 1:], links[:, :-1]  # what is cut off of `links` is </s>, which has none
    surprise = -weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
    shares = links / links.sum(-1, keepdim=True).clamp(min=1)
    return (surprise * shares).sum()
