"""Muon in the precision that is fast on this machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from dragoman.training.shards import is_divided, local, share_of, whole

Quintic = tuple[float, float, float]
"""a, b and c of a x + b x^3 + c x^5."""
QUINTICS: Sequence[Quintic] = (
    (8.2987, -24.4305, 18.0903),
    (3.9152, -2.9211, 0.5592),
    (3.1746, -2.3804, 0.4978),
)
"""Each quintic is the closest to 1 on the image of [0.005, 1] under the previous ones; together they map it to [0.5, 1.5].

Source: the greedy method of Amsel et al. 2025 (The Polar Express, arXiv:2505.16932), whose composition is optimal. torch's
Muon applies one quintic five times, which costs two thirds more.
"""
LEAST_MOMENTUM, LEAST_SHARE = 1e-30, 1e-9
"""Smaller numbers of a momentum, and of a direction divided by its norm, are set to zero, which moves no weight by as much as
float32 can tell: weights that no longer learn would leave subnormal numbers, with which an Intel CPU took 70 times as long."""
PARTS_PER_THREAD = 4
"""With so many matrices for each thread, one thread per matrix is faster than all threads on one matrix after the other."""


class PreciseMuon(Optimizer):
    """Muon (Jordan et al. 2024) with matrix products in the dtype `products`; torch's always uses bfloat16.

    Updates are scaled so that a learning rate has the same effect as for Adam (Liu et al. 2025, section 2.2). Many CPUs
    emulate bfloat16 at a fraction of the speed of float32. On a GPU, matrices of the same shape are batched; on a CPU, each
    thread takes one matrix at a time. Where weights are divided among processes, each gathers the whole matrix and updates its
    share. `stacked` says how many matrices a parameter, by its id, has on top of one another: each is updated by itself, or
    those with small gradients would hardly move; so is each matrix of a parameter of three dimensions. Deviation: the
    polynomials are `quintics`, and numbers that are next to nothing are set to zero.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float,
        weight_decay: float,
        products: torch.dtype,
        stacked: Mapping[int, int] | None = None,
        quintics: Sequence[Quintic] = QUINTICS,
    ) -> None:
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": 0.95, "nesterov": True, "eps": 1e-7}
        super().__init__(parameters, defaults)
        self.products = products
        self.stacked = stacked or {}
        self.quintics = quintics
        self._pool: ThreadPoolExecutor | None = None

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update each matrix that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[Any, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alone = id(parameter) if parameter.device.type == "cpu" else None
                    by_shape.setdefault((parameter.shape, self._parts(parameter), alone), []).append(parameter)
            largest_first = sorted(by_shape.values(), key=lambda alike: -alike[0].numel())
            list(self._mapped(partial(self._step, group=group), largest_first))
        return None

    def _mapped(self, work: Callable[[list[Tensor]], None], parts: Sequence[list[Tensor]]) -> Iterable[None]:
        """Do some work for each part; on a CPU, each with one thread, if there are enough parts to keep all threads busy."""
        threads = torch.get_num_threads()
        fit = all(one.device.type == "cpu" and not is_divided(one) for one in chain(*parts))
        if threads == 1 or len(parts) < PARTS_PER_THREAD * threads or not fit:
            return map(work, parts)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads, "muon", initializer=partial(torch.set_num_threads, 1))
        return self._pool.map(work, parts)

    @torch.no_grad()
    def _step(self, alike: list[Tensor], group: dict[str, Any]) -> None:
        """Update matrices of the same shape."""
        directions = []
        for parameter in alike:
            assert parameter.grad is not None
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(parameter.grad)
            average = state["momentum_buffer"].lerp_(parameter.grad, 1 - group["momentum"])
            torch.hardshrink(local(average), LEAST_MOMENTUM, out=local(average))
            directions.append(parameter.grad.lerp(average, group["momentum"]) if group["nesterov"] else average)
        parts = self._parts(alike[0])
        rows = torch.cat([whole(direction).to(self.products).flatten(end_dim=-2) for direction in directions])
        matrices = rows.unflatten(0, (len(alike) * parts, -1))
        turned = self._turned(matrices, group["eps"]).reshape(len(alike), *alike[0].shape)
        rate = group["lr"] * 0.2 * max(matrices.shape[1:]) ** 0.5
        for parameter, update in zip(alike, turned, strict=True):
            own = local(share_of(update, parameter))
            local(parameter).mul_(1 - group["lr"] * group["weight_decay"]).add_(own, alpha=-rate)

    def _parts(self, parameter: Tensor) -> int:
        """Return the number of matrices in a parameter."""
        return self.stacked.get(id(parameter), 1) if parameter.dim() == 2 else len(parameter)

    def _turned(
        self, matrices: Float[Tensor, "matrix rows columns"], eps: float
    ) -> Float[Tensor, "matrix rows columns"]:
        """Bring singular values close to 1: of all matrices at once, on a CPU of one after the other, which is faster there."""
        if matrices.device.type != "cpu":
            return orthogonalize(matrices, self.quintics, eps)
        return torch.stack([orthogonalize(matrix, self.quintics, eps) for matrix in matrices])


def orthogonalize(
    matrices: Float[Tensor, "*batch rows columns"], quintics: Sequence[Quintic], eps: float
) -> Float[Tensor, "*batch rows columns"]:
    """Bring the singular values of each matrix close to 1 by applying the quintics in turn.

    Source: Jordan et al. 2024, as in `torch.optim.Muon`; for one matrix or a batch. Matrices much longer in one direction are
    multiplied by all quintics at once, which takes fewer operations but the precision of float32.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if tall else matrices
    wide = torch.hardshrink(wide / wide.norm(dim=(-2, -1), keepdim=True).clamp(min=eps), LEAST_SHARE)
    if wide.shape[-1] > 1.5 * wide.shape[-2] and wide.dtype in (torch.float32, torch.float64):
        wide = _composed(wide @ wide.mT, quintics) @ wide
    else:
        for a, b, c in quintics:
            gram = wide @ wide.mT
            wide = _multiply_add(wide, _multiply_add(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.mT if tall else wide


def _composed(
    gram: Float[Tensor, "*batch rows rows"], quintics: Sequence[Quintic]
) -> Float[Tensor, "*batch rows rows"]:
    """Return what a matrix X is multiplied by if the quintics are applied to it in turn; `gram` is X X^T.

    A quintic multiplies X by a I + b G + c G^2 with G = X X^T. All these matrices are symmetric and commute.
    """
    factor: Tensor | None = None
    product: Tensor | None = None
    for a, b, c in quintics:
        gram = gram if factor is None else factor @ gram @ factor
        factor = _multiply_add(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal(dim1=-2, dim2=-1).add_(a)
        product = factor if product is None else factor @ product
    assert product is not None
    return product


def _multiply_add(added: Tensor, left: Tensor, right: Tensor, *, beta: float, alpha: float = 1.0) -> Tensor:
    """Return beta added + alpha left right, for matrices or batches of them."""
    fused = torch.addmm if added.dim() == 2 else torch.baddbmm
    return fused(added, left, right, beta=beta, alpha=alpha)
