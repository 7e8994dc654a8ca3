"""Where arithmetic must not round as coarsely as matrix products may."""

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return half-precision numbers as float32, and others as they are.

    >>> at_least_float32(torch.ones(1, dtype=torch.bfloat16)).dtype, at_least_float32(torch.ones(1).double()).dtype
    (torch.float32, torch.float64)
    """
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
