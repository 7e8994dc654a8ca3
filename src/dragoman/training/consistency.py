"""Consistency training: two passes over the same pairs, which must predict the same (R-Drop, SimCut)."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch, DecoderOutput
from dragoman.layers.divergence import divergence
from dragoman.layers.embedding import TokenEmbedding
from dragoman.special_ids import SpecialIds
from dragoman.training.consistency_settings import RDropSettings, SimCutSettings
from dragoman.training.word_dropout import is_special
from dragoman.tree import map_tensors


def twice(batch: Batch) -> Batch:
    """Return a batch with all its rows followed by the same rows again; they go through the model in one pass."""
    first = batch.label_positions
    both = map_tensors(lambda tensor: torch.cat([tensor, tensor]), replace(batch, cached_label_positions=None))
    return replace(both, cached_label_positions=torch.cat([first, first + batch.labels.numel()]))


def first_pass(output: DecoderOutput) -> DecoderOutput:
    """Return what a model says of the first half of the rows."""
    rows = len(output.features) // 2
    choice = map_tensors(lambda tensor: tensor[:rows], output.choice)
    attention = None if output.attention is None else output.attention[:rows]
    return replace(output, features=output.features[:rows], attention=attention, choice=choice)


def second_pass_cut(
    model: nn.Module, consistency: RDropSettings | SimCutSettings, special: SpecialIds
) -> AbstractContextManager[None]:
    """Return a context in which SimCut's second pass is cut: the second half of the rows that a model reads."""
    if isinstance(consistency, RDropSettings):
        return nullcontext()
    return _cut(model, consistency.cutoff, special)


def inconsistency(
    model: nn.Module,
    consistency: RDropSettings | SimCutSettings,
    *,
    output: DecoderOutput,
    features: Float[Tensor, "tokens dim"],
) -> Float[Tensor, ""]:
    """Return the weighted divergence between the two passes, summed over target tokens, whose `features` are of both passes.

    R-Drop (Liang et al. 2021, equations 2 to 4): the sum of both negative log-likelihoods, and alpha times half of KL(P || Q) +
    KL(Q || P). Deviation: all of it is divided by 2, so that loss, clipping and weight decay mean what they mean elsewhere.

    SimCut (Gao et al. 2022, equation 6): the negative log-likelihood of the first pass and alpha KL(P || Q), where Q is the
    second. As in its authors' code, gradients reach both, and both have dropout.
    """
    symmetric = isinstance(consistency, RDropSettings)
    first, second = features.chunk(2)
    sums = divergence(output.head, first, second, symmetric=symmetric, parameters=list(model.parameters()))
    return consistency.weight * (sums / 4 if symmetric else sums)


@contextmanager
def _cut(model: nn.Module, rate: float, special: SpecialIds) -> Iterator[None]:
    """Set embeddings of the second half of the rows to zero with probability `rate`, never those of special tokens.

    Embeddings are not scaled up in return. What is drawn depends on torch's random state, which a checkpoint keeps.
    """
    embeddings = [module for module in model.modules() if isinstance(module, TokenEmbedding)]
    if not embeddings:
        raise TrainingError(
            "`training.consistency.kind: simcut` cuts off what a TokenEmbedding gives, which this model does not have; "
            "set `training.consistency.kind: r_drop`"
        )

    def cut(module: nn.Module, given: tuple[Any, ...], embedded: Tensor) -> Tensor:
        ids = given[0]
        kept = (torch.rand(ids.shape, device=ids.device) >= rate) | is_special(ids, special)
        kept[: len(ids) // 2] = True
        return embedded * kept[..., None]

    hooks = [embedding.register_forward_hook(cut) for embedding in embeddings]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
