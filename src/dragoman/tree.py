"""Functions over the tensors inside nested dataclasses and tuples, such as a decoder's state."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

Tree = TypeVar("Tree")


def map_tensors(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Return a copy of `tree` with `function` applied to each tensor in it.

    `tree` may contain tensors, tuples, dataclasses, integers and None; anything else raises TypeError.

    >>> import torch
    >>> map_tensors(lambda tensor: tensor + 1, (torch.tensor(1), None, 7))
    (tensor(2), None, 7)
    """
    result: Any
    if isinstance(tree, Tensor):
        result = function(tree)
    elif isinstance(tree, tuple):
        result = tuple(map_tensors(function, item) for item in tree)
    elif is_dataclass(tree) and not isinstance(tree, type):
        result = replace(tree, **{f.name: map_tensors(function, getattr(tree, f.name)) for f in fields(tree)})
    elif tree is None or isinstance(tree, int):
        result = tree
    else:
        raise TypeError(f"map_tensors cannot look inside a {type(tree).__name__}")
    return result
