"""Find weights that torch does not know of, so that they would be neither trained nor saved."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

REGISTERED = frozenset(vars(nn.Module()))
"""Attributes in which torch itself keeps what is registered."""


def unregistered(model: nn.Module) -> Iterator[str]:
    """Yield the place of each weight that an attribute of a module hides from `parameters()`, in a plain list for example.

    >>> layers = nn.Module()
    >>> layers.all = [nn.Linear(2, 3, bias=False)]
    >>> list(unregistered(layers))
    ['all[0].weight']
    """
    known = {id(parameter) for parameter in model.parameters()}
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute not in REGISTERED:
                yield from _hidden(value, f"{name}.{attribute}" if name else attribute, known)


def plain_tensors(model: nn.Module) -> Iterator[str]:
    """Yield the place of each tensor that torch takes for a constant of its module: neither trained, nor saved, nor moved.

    >>> layer = nn.Linear(2, 3)
    >>> layer.scale = layer.weight.detach()
    >>> list(plain_tensors(layer))
    ['scale']
    """
    known = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute not in REGISTERED and isinstance(value, Tensor) and id(value) not in known:
                yield f"{name}.{attribute}" if name else attribute


def _hidden(value: Any, place: str, known: set[int]) -> Iterator[str]:
    """Yield the weights in a value that are not known."""
    match value:
        case Tensor():
            if id(value) not in known and (isinstance(value, nn.Parameter) or (value.is_leaf and value.requires_grad)):
                yield place
        case nn.Module():
            yield from (f"{place}.{name}" for name, weight in value.named_parameters() if id(weight) not in known)
        case list() | tuple():
            for number, item in enumerate(value):
                yield from _hidden(item, f"{place}[{number}]", known)
        case Mapping():
            for key, item in value.items():
                yield from _hidden(item, f"{place}[{key!r}]", known)
