"""Optimisers with their parameter groups."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from dragoman.attention.multi_head import MultiHead
from dragoman.attention.relative import Relative
from dragoman.errors import TrainingError
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.experts import Experts
from dragoman.training.muon import PreciseMuon
from dragoman.training.settings import OptimisationSettings
from dragoman.training.shards import is_divided, local

MULTIPLE = "multiple"
"""What the learning rate of a parameter group is multiplied by."""


def build_optimizer(
    model: nn.Module, settings: OptimisationSettings, products: torch.dtype = torch.float32
) -> Optimizer:
    """Build the optimiser, fused where it can be; weight decay applies to matrices but those of embeddings.

    `muon` updates the matrices of hidden layers, scaled so that a learning rate has the same effect as for Adam (Liu et al.
    2025, section 2.2), with matrix products in the dtype `products`; embeddings, output layers and everything else use
    AdamW, with `embedding_rate` times the learning rate. What is frozen has no part in it.
    """
    embeddings = _parameters(model, (nn.Embedding, TokenEmbedding))
    trained = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in trained if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in trained if p.dim() <= 1 or id(p) in embeddings]
    rate, decay = settings.learning_rate, settings.weight_decay
    adam: dict[str, Any] = {"lr": rate, "betas": settings.betas, "eps": settings.epsilon, "fused": True}
    if settings.optimizer == "muon":
        hidden = _hidden_matrices(model)
        muons = {id(p) for p in hidden}
        rest = [p for p in decayed if id(p) not in muons]
        muon = PreciseMuon(hidden, lr=rate, weight_decay=decay, products=products, stacked=_stacked(model))
        groups = [{**group, MULTIPLE: settings.embedding_rate} for group in _groups(rest, others, decay)]
        return CombinedOptimizer([muon, QuickAdamW(groups, **adam)])
    groups = _groups(decayed, others, decay)
    if settings.optimizer in ("sgd", "nesterov"):
        nesterov, fused = (
            settings.optimizer == "nesterov",
            not any(map(is_divided, trained)),
        )  # torch has no fused DTensors here
        return SGD(groups, lr=rate, momentum=settings.momentum, nesterov=nesterov, fused=fused)
    return (LowOverheadAdam if settings.optimizer == "adam" else QuickAdamW)(groups, **adam)


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of every parameter group."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get(MULTIPLE, 1.0)


def check_none_is_new(model: nn.Module, known: Collection[str]) -> None:
    """Raise TrainingError if a model has weights that are not `known`, so that no optimiser has them.

    A layer of a plugin that is made at its first use has them; the run could not be read again.
    """
    for name, _ in model.named_parameters():
        if name not in known:
            raise TrainingError(
                f"the weights `{name}` appeared when the model first computed, so they would not be trained; make them in "
                "`__init__`, where the sizes are known, not in `forward`"
            )


def state_size(model: nn.Module, settings: OptimisationSettings) -> int:
    """Return how many numbers the optimiser of `build_optimizer` keeps from step to step.

    Adam keeps two for each weight that is trained, Muon one for each of its own; sgd and nesterov keep one with momentum.
    """
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if settings.optimizer in ("sgd", "nesterov"):
        return trained if settings.momentum else 0
    if settings.optimizer == "muon":
        return 2 * trained - sum(p.numel() for p in _hidden_matrices(model))
    return 2 * trained


class LowOverheadAdam(Adam):
    """torch's fused Adam with less Python overhead, which for small models takes longer than the arithmetic.

    State, groups and results are those of torch, which also takes the first step.
    """

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
        if not set_to_none:
            return super().zero_grad(set_to_none)
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        moved = [[p for p in group["params"] if p.grad is not None] for group in self.param_groups]
        if closure is not None or not all(self.state.get(p) for parameters in moved for p in parameters):
            return super().step(closure)
        for group, parameters in zip(self.param_groups, moved, strict=True):
            if parameters:
                self._move(group, parameters)
        return None

    def _move(self, group: Mapping[str, Any], parameters: list[Tensor]) -> None:
        """Update the parameters of one group."""
        steps, means, squares = (
            [local(self.state[p][name]) for p in parameters] for name in ("step", "exp_avg", "exp_avg_sq")
        )
        torch._foreach_add_(steps, 1)
        operation = torch._fused_adamw_ if group["decoupled_weight_decay"] else torch._fused_adam_
        operation(
            [local(p) for p in parameters],
            [local(p.grad) for p in parameters if p.grad is not None],
            means,
            squares,
            [],
            steps,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )


class QuickAdamW(LowOverheadAdam, AdamW):
    """The same with decoupled weight decay."""


class CombinedOptimizer(Optimizer):
    """Optimisers of different parameters that step as one."""

    def __init__(self, parts: Sequence[Optimizer]) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})
        self._share()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take a step with each optimiser."""
        for part in self.parts:
            part.step()
        return None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._share()

    def _share(self) -> None:
        """Share state and parameter groups with the parts."""
        first = 0
        for part in self.parts:
            part.state = self.state
            part.param_groups = self.param_groups[first : first + len(part.param_groups)]
            first += len(part.param_groups)


def _hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Return what Muon updates: trained matrices but those of embeddings, also of distances, and of output layers.

    Each expert has a matrix of its own in a parameter of three dimensions; those of convolutions are no matrices.
    """
    others = _parameters(model, (nn.Embedding, TokenEmbedding, Relative, OutputLayer))
    experts = _parameters(model, (Experts,))
    matrices = (p for p in model.parameters() if p.dim() == 2 or (p.dim() == 3 and id(p) in experts))
    return [p for p in matrices if p.requires_grad and id(p) not in others]


def _stacked(model: nn.Module) -> dict[int, int]:
    """Return how many matrices are on top of one another in parameters, by their ids: those of keys and values.

    The gates of recurrent models are updated together: each by itself, they learned no more.
    """
    return {id(module.key_value.weight): 2 for module in model.modules() if isinstance(module, MultiHead)}


def _groups(decayed: Sequence[Tensor], others: Sequence[Tensor], decay: float) -> list[dict[str, Any]]:
    """Return parameter groups with and without weight decay."""
    return [{"params": decayed, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def _parameters(model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> set[int]:
    """Return the ids of the parameters of modules of these kinds, also of those with normalised weights."""
    owners = (module for module in model.modules() if isinstance(module, kinds))
    return {id(parameter) for module in owners for parameter in module.parameters()}
