"""Where attention is computed: mask, softmax (or a sparse kin of it), average. No other module takes a softmax over keys."""

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.attention.settings import WeightsName
from dragoman.attention.sparse import entmax15, sparsemax


def attend(
    scores: Float[Tensor, "*batch query key"],
    values: Float[Tensor, "*batch key dim"],
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    *,
    dropout: float = 0.0,
    normalizer: WeightsName = "softmax",
) -> tuple[Float[Tensor, "*batch query dim"], Float[Tensor, "*batch query key"]]:
    """Average `values` with softmax(scores), or another normalizer of them, and return the average and the weights.

    A key that the mask hides gets weight 0 exactly; a query that may see nothing gets zeros, not NaN, and so does its
    gradient. `dropout` applies to the weights that average, not to those returned.
    """
    weights = normalize(scores, mask, normalizer)
    return average(weights, values, dropout), weights


def average(
    weights: Float[Tensor, "*batch query key"], values: Float[Tensor, "*batch key dim"], dropout: float = 0.0
) -> Float[Tensor, "*batch query dim"]:
    """Add up `values` with `weights`, some of which are dropped where `dropout` says so."""
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


def attend_scaled_dot(
    queries: Float[Tensor, "*batch query dim"],
    keys: Float[Tensor, "*batch key dim"],
    values: Float[Tensor, "*batch key value_dim"],
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    *,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch query value_dim"]:
    """Compute `attend` for the scaled dot product in one fused kernel that never shows the weights.

    Equal to `attend` within rounding (a law). A query that may see nothing gets zeros. On a CPU the kernel works in float32
    even where products are done in bfloat16: its bfloat16 backward pass is several times slower.
    """
    sees_any = None if mask is None else mask.any(-1, keepdim=True)
    open_mask = None if mask is None or sees_any is None else mask | ~sees_any
    on_cpu = queries.device.type == "cpu"
    with torch.autocast("cpu", enabled=False) if on_cpu and torch.is_autocast_enabled("cpu") else nullcontext():
        if on_cpu and torch.bfloat16 in (queries.dtype, keys.dtype, values.dtype):
            queries, keys, values = queries.float(), keys.float(), values.float()
        context = F.scaled_dot_product_attention(queries, keys, values, attn_mask=open_mask, dropout_p=dropout)
    return context if sees_any is None else context * sees_any
