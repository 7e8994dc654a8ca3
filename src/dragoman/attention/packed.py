"""Attention over sentences of different lengths in one fused GPU kernel, which sees no padding.

Not yet measured on a GPU. Tests compare it and its gradients with masked attention, using a plain loop in place of the
kernel.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.attention.attend import attend
from dragoman.machine.dtypes import matmul_dtype

WIDEST = 256
"""Largest head size that the kernel supports; it must be a multiple of 8."""


def can_pack(
    queries: Float[Tensor, "batch head query dim"],
    values: Float[Tensor, "batch head key value_dim"],
    mask: Bool[Tensor, "#batch 1 #query key"],
) -> bool:
    """Tell whether `attend_packed` applies: half precision on a GPU, and all queries of a sentence see the same keys."""
    width = queries.shape[-1]
    return (
        queries.device.type == "cuda"
        and mask.shape[2] == 1
        and matmul_dtype(queries) in (torch.bfloat16, torch.float16)
        and width == values.shape[-1] <= WIDEST
        and width % 8 == 0
    )


def attend_packed(
    queries: Float[Tensor, "batch head query dim"],
    keys: Float[Tensor, "batch head key dim"],
    values: Float[Tensor, "batch head key dim"],
    *,
    real: Bool[Tensor, "#batch key"],
) -> Float[Tensor, "batch head query dim"]:
    """Average `values` with the softmax of scaled dot products over real keys only; without any, return zeros.

    The keys of all sentences are concatenated, with the padding at the end, where the kernel does not look, so every shape
    is known without synchronising with the GPU. What the kernel leaves there is never read, nor are its gradients.
    """
    rows, heads, count, width = queries.shape
    real = real.expand(rows, -1)
    order = real.logical_not().flatten().byte().argsort(stable=True)
    kind = matmul_dtype(queries)

    def packed(states: Tensor) -> Tensor:
        clean = states.transpose(1, 2).masked_fill(~real[:, :, None, None], 0.0)
        return clean.reshape(-1, heads, width).to(kind).index_select(0, order)

    # For a sentence without keys, the kernel's output and gradient are not used either.
    sees = real.any(1)
    asked = queries.transpose(1, 2).masked_fill(~sees[:, None, None, None], 0.0).reshape(-1, heads, width).to(kind)
    ends = F.pad(real.sum(1).cumsum(0), (1, 0)).int()
    firsts = torch.arange(rows + 1, device=queries.device, dtype=torch.int32) * count
    context = torch.as_tensor(_kernel()(asked, packed(keys), packed(values), firsts, ends, count, keys.shape[2]))
    return context.unflatten(0, (rows, count)).masked_fill(~sees[:, None, None, None], 0.0).transpose(1, 2)


def kernel_works(device: torch.device) -> bool:
    """Tell whether the kernel is available and gives the same results and gradients as masked attention on a small input."""
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5], device=device)
    given = torch.linspace(-1, 1, 3 * 3 * 2 * 5 * 8, device=device).sin().view(3, 3, 2, 5, 8).bfloat16()
    results = []
    try:
        with torch.enable_grad(), torch.autocast(device.type, enabled=False):
            for way in (attend_packed, _attend):
                parts = [part.clone().requires_grad_() for part in given]
                context = way(parts[0], parts[1], parts[2], real=real)
                results.append([context, *torch.autograd.grad(context.float().square().sum(), parts)])
    except RuntimeError:
        return False
    return all(torch.allclose(one, other, rtol=0.05, atol=0.05) for one, other in zip(*results, strict=True))


def _kernel() -> Callable[..., Any]:
    """Return torch's kernel; importing it takes longer than importing all else of torch, so it is not done before it is used."""
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn


def _attend(queries: Tensor, keys: Tensor, values: Tensor, *, real: Tensor) -> Tensor:
    """Attend with scores, mask and average."""
    return attend(queries @ keys.mT * queries.shape[-1] ** -0.5, values, real[:, None, None])[0]
