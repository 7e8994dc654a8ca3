"""Models without memory for their weights: what they hold and how large it is, before anything is computed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

INITIALISERS = frozenset(
    {
        nn.init.normal_,
        nn.init.uniform_,
        nn.init.kaiming_uniform_,
        nn.init.orthogonal_,
        Tensor.normal_,
        Tensor.uniform_,
    }
)
"""What would draw the values of weights, the tensor being its first argument."""


class _Undrawn(TorchFunctionMode):
    """Leaves weights as they are instead of drawing their values."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """Compute anything but what draws."""
        if function in INITIALISERS:
            return arguments[0] if arguments else (named or {})["tensor"]
        return function(*arguments, **(named or {}))


@contextmanager
def undrawn() -> Iterator[None]:
    """Build the models within, whose weights are about to be read, without drawing values for them.

    Torch has one generator of random numbers: what is drawn here would be missing in a training in another thread.

    >>> before = torch.get_rng_state()
    >>> with undrawn():
    ...     layer = nn.Linear(2, 2)
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """
    with _Undrawn():
        yield


@contextmanager
def without_memory() -> Iterator[None]:
    """Build the models within on torch's meta device, where a weight has a shape but no values.

    Values are not drawn, which torch would prepare by importing its compiler for seconds.

    >>> with without_memory():
    ...     nn.Linear(10**6, 10**6).weight.shape
    torch.Size([1000000, 1000000])
    """
    with torch.device("meta"), _Undrawn():
        yield
