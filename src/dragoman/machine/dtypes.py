"""Where arithmetic must not round as coarsely as matrix products may."""

import torch
from torch import Tensor


def upcast(tensor: Tensor) -> Tensor:
    """Return half-precision numbers as float32, and others as they are.

    >>> upcast(torch.ones(1, dtype=torch.bfloat16)).dtype, upcast(torch.ones(1).double()).dtype
    (torch.float32, torch.float64)
    """
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def matmul_dtype(tensor: Tensor) -> torch.dtype:
    """Return the type in which matrix products of `tensor` are done: that of autocast where it is on.

    >>> matmul_dtype(torch.ones(1))
    torch.float32
    """
    device = tensor.device.type
    lowered = torch.is_autocast_enabled(device) and tensor.dtype == torch.float32
    return torch.get_autocast_dtype(device) if lowered else tensor.dtype


def to_matmul_dtype(tensor: Tensor) -> Tensor:
    """Return numbers on a CPU in the type in which products are done, so that they need not be turned into it at each product.

    A GPU turns them in passing, so there sums stay in full.
    """
    return tensor.to(matmul_dtype(tensor)) if tensor.device.type == "cpu" else tensor
