"""Weights, gradients and optimiser state divided among processes, with torch's `fully_shard` (FSDP2).

Between steps each process holds a share of the rows of every parameter, as a DTensor. The weights of a group of modules are
gathered while it computes, and its gradient is summed over all processes and divided again at once. What is written is
gathered tensor by tensor, so that a checkpoint does not depend on who wrote it.
"""

import copy
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor, nn

from dragoman.interfaces import Batch, Loss
from dragoman.training.contracts import Objective


def is_divided(tensor: Tensor) -> bool:
    """Tell whether a tensor is a DTensor, whose class takes a second to import."""
    return hasattr(tensor, "placements")


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor; if it is divided, all processes call this."""
    return tensor.full_tensor() if is_divided(tensor) else tensor  # type: ignore[attr-defined]


def share_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the share of this process of a whole tensor, divided as `like` is; the tensor itself if that is not divided."""
    if not is_divided(like) or tensor.shape != like.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    mesh, places = like.device_mesh, like.placements  # type: ignore[attr-defined]
    return distribute_tensor(tensor.to(like.device), mesh, places, src_data_rank=None)


def local(tensor: Tensor) -> Tensor:
    """Return the memory of a tensor that is in this process."""
    return tensor.to_local() if is_divided(tensor) else tensor  # type: ignore[attr-defined]


class Shards:
    """A model whose weights are divided among all processes, which must call each method together.

    `taken_from` gives its weights away: afterwards its parameters have their shapes, but no memory and no meaning, except
    within `whole_again`. It shares its buffers with the divided model.
    """

    def __init__(self, taken_from: nn.Module, *, by_blocks: bool) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

        self.hollow = taken_from
        own = {id(one): nn.Parameter(one.data, one.requires_grad) for one in taken_from.parameters()}
        self.model: Any = copy.deepcopy(taken_from, {**own, **{id(one): one for one in taken_from.buffers()}})
        device = next(taken_from.parameters()).device.type
        mesh = init_device_mesh(device, (distributed.get_world_size(),))
        self._computation = _Computation(self.model)
        for block in _blocks(self.model) if by_blocks else ():
            fully_shard(block, mesh=mesh)
            if hasattr(block, "prepare"):
                register_fsdp_forward_method(block, "prepare")
        fully_shard(self._computation, mesh=mesh, reshard_after_forward=False)
        for module in self._computation.modules():
            if isinstance(module, FSDPModule):
                module.set_gradient_divide_factor(1.0)
                module.set_force_sum_reduction_for_comms(True)  # gloo can do no more than add
        _empty(self.hollow)

    def computing(self, objective: Objective) -> Objective:
        """Return an objective that is computed with the divided model, whichever it is given."""

        def compute(_: Any, batch: Batch) -> Loss:
            with warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", r"FSDP2-wrapped module .* returned a view tensor"
                )  # nobody changes it
                return Loss(*self._computation(objective, batch))

        return compute

    @contextmanager
    def whole_again(self, values: Mapping[str, Tensor] | None = None, *, keep: bool) -> Iterator[None]:
        """Give the hollow model the whole weights, or the `values` in their place, for the time of a block.

        Where `keep` is false, this process only takes part.
        """
        try:
            self.fill(values, keep=keep)
            yield
        finally:
            _empty(self.hollow)

    @torch.no_grad()
    def fill(self, values: Mapping[str, Tensor] | None = None, *, keep: bool) -> None:
        """Give the hollow model the whole weights, or the `values` in their place, if `keep`."""
        divided = dict(self.model.named_parameters()) if values is None else values
        for name, parameter in self.hollow.named_parameters():
            weight = whole(divided[name].detach())
            if keep:
                parameter.data = weight


class _Computation(nn.Module):
    """A loss as a module, so that the weights are there for everything that an objective does with a model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, objective: Objective, batch: Batch) -> tuple[Any, ...]:
        """Compute the values of a Loss, in a form in which FSDP finds the tensors."""
        loss = objective(self.model, batch)
        return loss.total, loss.tokens, loss.plain


def nothing(objective: Objective) -> Objective:
    """Return an objective with all of the computation, but no loss and no gradient, for processes that have nothing to do."""

    def compute(model: Any, batch: Batch) -> Loss:
        loss = objective(model, batch)
        return Loss(loss.total * 0, 0, loss.plain * 0)

    return compute


def _blocks(model: nn.Module) -> list[nn.Module]:
    """Return the layers of a Transformer that share no weight with the rest of the model."""
    from dragoman.models.transformer import DecoderLayer, EncoderLayer

    names = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    layers = [module for module in model.modules() if isinstance(module, EncoderLayer | DecoderLayer)]
    return [layer for layer in layers if all(names[id(one)] == 1 for one in layer.parameters())]


def _empty(model: nn.Module) -> None:
    """Free the memory of a model's parameters; their shapes stay, and whoever reads them finds no number."""
    for parameter in model.parameters():
        parameter.data = parameter.data.new_full((), torch.nan).expand(parameter.shape)
