"""Low-rank adapters (Hu et al. 2021): a model's matrices are corrected by products of two thin ones, which alone are trained."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.relative import Relative
from dragoman.errors import SettingsError
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.settings import nearest

VOCABULARIES = (nn.Embedding, TokenEmbedding, OutputLayer)
"""Modules whose matrices have a row for each token or position."""


@dataclass(frozen=True)
class AdaptedMatrix:
    """A weight of the model, its value in the base, and its correction: W = W_0 + s U D."""

    weight: nn.Parameter
    base: Float[Tensor, "*stack rows columns"]
    up: Float[Tensor, "*stack rows rank"]
    down: Float[Tensor, "*stack rank columns"]


class Adapters(nn.Module):
    """Corrections of the matrices of `model`: W = W_0 + alpha / r B A, with B initially zero (Hu et al. 2021, section 4.1).

    The model always holds the corrected weights W, so it computes as any other, in training and at inference. `take_gradients`
    turns the gradient of W into those of A and B by the chain rule, dA = s B^T dW and dB = s dW A^T; `merge` follows a
    change of A or B. Everything else in the model is frozen. `up` is B, `down` is A; experts have one of each per expert.
    Deviations: no dropout on the inputs of A; A is uniform as in the authors' code, the paper says Gaussian; by default all
    matrices are adapted, in the paper those of queries and values.
    """

    def __init__(self, model: nn.Module, settings: AdapterSettings) -> None:
        """Take over a model with the weights of its base, and freeze them. SettingsError if no matrix is left to adapt."""
        super().__init__()
        self.scale = (settings.alpha or settings.rank) / settings.rank
        self.up, self.down = nn.ParameterDict(), nn.ParameterDict()
        chosen = _chosen(model, settings)
        model.requires_grad_(False)
        self.matrices: list[AdaptedMatrix] = []
        for name, weight in chosen.items():
            *stack, rows, columns = weight.shape
            down = torch.empty(*stack, settings.rank, columns, dtype=weight.dtype).uniform_(
                -(columns**-0.5), columns**-0.5
            )
            up = torch.zeros(*stack, rows, settings.rank, dtype=weight.dtype)
            place = name.replace(".", "/")
            self.up[place], self.down[place] = (nn.Parameter(part.to(weight.device)) for part in (up, down))
            weight.requires_grad_(True)
            self.matrices.append(AdaptedMatrix(weight, weight.detach().clone(), self.up[place], self.down[place]))
        saved = model.state_dict().keys()
        for name, buffer in model.named_buffers():
            if name in saved:  # what training changes, such as the baseline of hard attention
                self.register_buffer(name.replace(".", "/"), buffer)

    @torch.no_grad()
    def merge(self) -> None:
        """Give the model its corrected weights."""
        for matrix in self.matrices:
            matrix.weight.copy_(torch.add(matrix.base, matrix.up @ matrix.down, alpha=self.scale))

    def forget_gradients(self) -> None:
        """Forget gradients of the model's weights, which a step that failed has left."""
        for matrix in self.matrices:
            matrix.weight.grad = None

    @torch.no_grad()
    def take_gradients(self) -> None:
        """Turn the gradients of the model's weights into those of the corrections."""
        for matrix in self.matrices:
            gradient, matrix.weight.grad = matrix.weight.grad, None
            if gradient is not None:
                matrix.up.grad = (gradient @ matrix.down.mT).mul_(self.scale)
                matrix.down.grad = (matrix.up.mT @ gradient).mul_(self.scale)


def _chosen(model: nn.Module, settings: AdapterSettings) -> dict[str, nn.Parameter]:
    """Return the matrices to adapt by name. Raises SettingsError if there are none, or a word names none."""
    possible = dict(_matrices(model))
    words = {word for name in possible for word in name.split(".") if not word.isdecimal()}
    for word in settings.where:
        if word not in words:
            raise SettingsError(
                f"`model.adapters.where` names `{word}`, but no matrix of this model has it in its name"
                f"{nearest(word, sorted(words - {'weight'}))}"
            )
    named = {
        name: weight
        for name, weight in possible.items()
        if not settings.where or set(name.split(".")) & set(settings.where)
    }
    small = {name: weight for name, weight in named.items() if _saves(weight, settings.rank)}
    if not small:
        raise SettingsError(
            f"`model.adapters.rank` is {settings.rank}, but an adapter of that rank is no smaller than any matrix that it would "
            "correct; choose a smaller one"
        )
    return small


def _matrices(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield each matrix, or stack of matrices, that is not a table of vectors."""
    tables = {
        id(weight)
        for module in model.modules()
        if isinstance(module, (*VOCABULARIES, Relative))
        for weight in module.parameters()
    }
    for name, weight in model.named_parameters():
        if weight.dim() >= 2 and id(weight) not in tables:
            yield name, weight


def _saves(weight: Tensor, rank: int) -> bool:
    """Tell whether an adapter has fewer numbers than the matrix.

    >>> _saves(torch.empty(16, 16), 7), _saves(torch.empty(16, 16), 8), _saves(torch.empty(1, 99), 1)
    (True, False, False)
    """
    rows, columns = weight.shape[-2:]
    return rank * (rows + columns) < rows * columns
