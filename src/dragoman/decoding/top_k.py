"""The k largest of many numbers, faster than `topk`, and the most probable tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.native import decoding as native
from dragoman.native.compilation import DECODING, available

BLOCK = 64
"""Size of a block, whose maximum is compared first."""
MANY = 1 << 15
"""Numbers in all rows from which blocks are faster, and"""
TIMES = 4
"""how many times more blocks than wanted numbers there must be for it."""


def blockwise_top_k(
    numbers: Float[Tensor, "rows many"], count: int
) -> tuple[Float[Tensor, "rows {count}"], Int[Tensor, "rows {count}"]]:
    """Return the `count` largest numbers of each row, largest first, and their indices, as `numbers.topk(count)` does.

    They are in the `count` blocks with the largest maxima, so only these are searched, and the rest that fills no block.
    """
    rows, many = numbers.shape
    blocks = many // BLOCK
    if numbers.numel() < MANY or blocks < TIMES * count:
        values, places = numbers.topk(count)
        return values, places
    whole = numbers[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    chosen = whole.amax(2).topk(count, sorted=False).indices
    candidates = whole[torch.arange(rows, device=numbers.device)[:, None], chosen].flatten(1)
    starts = chosen * BLOCK
    if many % BLOCK:
        candidates = torch.cat([candidates, numbers[:, blocks * BLOCK :]], 1)
        starts = torch.cat([starts, starts.new_full((rows, 1), blocks * BLOCK)], 1)
    values, found = candidates.topk(count)
    return values, starts.gather(1, found // BLOCK) + found % BLOCK


def top_log_probs(
    logits: Float[Tensor, "rows vocab"], count: int
) -> tuple[Float[Tensor, "rows {count}"], Int[Tensor, "rows {count}"]]:
    """Return the log-probabilities and ids of the `count` most probable tokens of each row, best first."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32 and available(DECODING):
        return native.likeliest(logits, count)
    return blockwise_top_k(logits.log_softmax(-1), count)
