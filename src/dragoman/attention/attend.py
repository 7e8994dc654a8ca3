"""Compute attention: mask, softmax (or a sparse alternative), average. No other module takes a softmax over keys."""

from contextlib import nullcontext
from math import prod

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.attention.settings import WeightsName
from dragoman.attention.sparse import entmax15, sparsemax

SHORT = 512
"""Up to this many keys, a CPU materialises the full matrix of bfloat16 scores."""


def attend(
    scores: Float[Tensor, "*batch query key"],
    values: Float[Tensor, "*batch key dim"],
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    *,
    dropout: float = 0.0,
    normalizer: WeightsName = "softmax",
) -> tuple[Float[Tensor, "*batch query dim"], Float[Tensor, "*batch query key"]]:
    """Average `values` with softmax(scores), or another normalizer, and return the average and the weights.

    A masked key gets weight exactly 0; a query that may see nothing gets zeros, not NaN, and so does its gradient. `dropout`
    applies to the weights used for the average, not to those returned.
    """
    weights = normalize(scores, mask, normalizer)
    return average(weights, values, dropout), weights


def average(
    weights: Float[Tensor, "*batch query key"], values: Float[Tensor, "*batch key dim"], dropout: float = 0.0
) -> Float[Tensor, "*batch query dim"]:
    """Return the sum of `values` weighted by `weights`, after dropout on the weights."""
    return (F.dropout(weights, dropout) if dropout else weights) @ values


def normalize(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    name: WeightsName = "softmax",
) -> Float[Tensor, "*batch query key"]:
    """Turn scores into weights over the keys that may be seen, by the function called `name`."""
    match name:
        case "softmax":
            return masked_softmax(scores, mask)
        case "sparsemax":
            return sparsemax(scores, mask)
        case "entmax15":
            return entmax15(scores, mask)


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "*#batch #query key"] | None = None
) -> Float[Tensor, "*batch query key"]:
    """Turn scores into weights that sum to 1 over the keys that may be seen, and are 0 elsewhere.

    >>> masked_softmax(torch.zeros(1, 3), torch.tensor([[True, True, False]])).tolist()
    [[0.5, 0.5, 0.0]]
    """
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


def as_distribution(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch key"]:
    """Divide weights by their sum, which is below 1 after the Gaussian of a predicted window. A row of zeros stays zero.

    >>> as_distribution(torch.tensor([[0.2, 0.6], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    return weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


def attend_scaled_dot(
    queries: Float[Tensor, "*batch query dim"],
    keys: Float[Tensor, "*batch key dim"],
    values: Float[Tensor, "*batch key value_dim"],
    *,
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    dropout: float = 0.0,
    causal: bool = False,
) -> Float[Tensor, "*batch query value_dim"]:
    """Compute `attend` for the scaled dot product in one fused kernel, which does not return the weights.

    Equal to `attend` up to rounding (a law). A query that may see nothing gets zeros. In bfloat16 on a CPU, batched matrix
    products are used for up to SHORT keys, because the kernel's bfloat16 backward pass is several times slower; with more
    keys the kernel runs in float32. A GPU is faster without an explicit mask: `causal` says that `mask` is the causal mask
    of equally many queries and keys.
    """
    if causal and queries.device.type == "cuda":
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, is_causal=True)
    sees_any = None if mask is None else mask.any(-1, keepdim=True)
    open_mask = None if mask is None or sees_any is None else mask | ~sees_any
    on_cpu = queries.device.type == "cpu"
    with torch.autocast("cpu", enabled=False) if on_cpu and torch.is_autocast_enabled("cpu") else nullcontext():
        if on_cpu and torch.bfloat16 in (queries.dtype, keys.dtype, values.dtype):
            if keys.shape[-2] <= SHORT and not dropout:
                context = _by_products(queries.bfloat16(), keys.bfloat16(), values.bfloat16(), mask=open_mask)
                return context if sees_any is None else context * sees_any
            queries, keys, values = queries.float(), keys.float(), values.float()
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=open_mask, dropout_p=dropout)
    return context if sees_any is None else context * sees_any


def _by_products(
    queries: Float[Tensor, "*batch query dim"],
    keys: Float[Tensor, "*batch key dim"],
    values: Float[Tensor, "*batch key value_dim"],
    *,
    mask: Bool[Tensor, "*#batch #query key"] | None,
) -> Float[Tensor, "*batch query value_dim"]:
    """Attend with two matrix products and a softmax in between; every query sees a key. Sums are accumulated in float32."""
    *batch, count, dim = queries.shape
    together = prod(batch)
    rows, columns, averaged = (x.reshape(together, *x.shape[-2:]) for x in (queries, keys.transpose(-1, -2), values))
    hidden = queries.new_zeros(()) if mask is None else torch.zeros_like(mask, dtype=queries.dtype)
    if mask is not None:
        hidden.masked_fill_(~mask, -torch.inf)
    added = hidden.expand(*batch, count, keys.shape[-2]).reshape(together, count, keys.shape[-2])
    scores = torch.baddbmm(added, rows, columns, alpha=dim**-0.5)
    return (scores.softmax(-1) @ averaged).view(*batch, count, values.shape[-1])
