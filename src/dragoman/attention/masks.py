"""Every mask. True always means "may attend"; a mask has the shape (batch or 1, query or 1, key)."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def causal(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "1 queries keys"]:
    """Let each query see itself and everything before it.

    The last query is at the position of the last key, so keys cached from earlier calls are all visible.

    >>> causal(2, 4).int().tolist()
    [[[1, 1, 1, 0], [1, 1, 1, 1]]]
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)[None]


def to_source(real: Bool[Tensor, "batch source"]) -> Bool[Tensor, "batch 1 source"]:
    """Let every query see every real source token.

    >>> to_source(torch.tensor([[True, False]])).tolist()
    [[[True, False]]]
    """
    return real[:, None, :]


def none_if_all_true(mask: Bool[Tensor, "batch 1 key"]) -> Bool[Tensor, "batch 1 key"] | None:
    """Return the mask, or None if it hides nothing; checked only in inference on a CPU, because a GPU would have to wait.

    >>> with torch.inference_mode():
    ...     [none_if_all_true(to_source(torch.tensor([real]))) for real in ([True, True], [True, False])]
    [None, tensor([[[ True, False]]])]
    """
    if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled() or mask.device.type != "cpu":
        return mask
    return None if bool(mask.all()) else mask


def from_lengths(lengths: Int[Tensor, "*batch"], keys: int) -> Bool[Tensor, "_ _ keys"]:
    """Let queries see the first `lengths` keys: one length per example, or one per query.

    >>> from_lengths(torch.tensor([1, 3]), keys=3).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    per_query = lengths[:, None] if lengths.dim() == 1 else lengths
    return torch.arange(keys, device=lengths.device) < per_query[:, :, None]


def of_real_queries(
    real: Bool[Tensor, "batch query"], mask: Bool[Tensor, "#batch #query key"]
) -> Bool[Tensor, "batch query key"]:
    """Let padded queries see nothing, so that attention gives zeros for them; the others see what `mask` allows.

    >>> of_real_queries(torch.tensor([[True, False]]), causal(2, 2)).int().tolist()
    [[[1, 0], [0, 0]]]
    """
    return mask & real[:, :, None]
