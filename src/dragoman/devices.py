"""Which device and how many threads to compute with."""

import torch

from dragoman.errors import InputError


def choose_device(wish: str) -> torch.device:
    """Return the device called `wish`; `auto` takes a GPU where there is one."""
    if wish not in ("auto", "cpu", "cuda"):
        raise InputError(f"there is no device `{wish}`; choose auto, cpu or cuda")
    if wish == "cuda" and not torch.cuda.is_available():
        raise InputError("`cuda` was asked for, but no GPU can be used here; choose `cpu` or `auto`")
    return torch.device("cuda" if wish != "cpu" and torch.cuda.is_available() else "cpu")
