"""Conversions between the dtype of matrix products and that of more precise arithmetic."""

import torch
from torch import Tensor


def upcast(tensor: Tensor) -> Tensor:
    """Convert half-precision tensors to float32, and return others unchanged.

    >>> upcast(torch.ones(1, dtype=torch.bfloat16)).dtype, upcast(torch.ones(1).double()).dtype
    (torch.float32, torch.float64)
    """
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def matmul_dtype(tensor: Tensor) -> torch.dtype:
    """Return the dtype in which matrix products of `tensor` are computed: autocast's if it is on.

    >>> matmul_dtype(torch.ones(1))
    torch.float32
    """
    device = tensor.device.type
    lowered = torch.is_autocast_enabled(device) and tensor.dtype == torch.float32
    return torch.get_autocast_dtype(device) if lowered else tensor.dtype


def to_matmul_dtype(tensor: Tensor) -> Tensor:
    """Convert a CPU tensor to the dtype of matrix products, so that it need not be converted for each product.

    On a GPU conversion is cheap, so tensors keep full precision.
    """
    return tensor.to(matmul_dtype(tensor)) if tensor.device.type == "cpu" else tensor
