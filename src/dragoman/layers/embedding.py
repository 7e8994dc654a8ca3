"""Token embeddings and the output layer, which may share one matrix."""

import math
from collections.abc import Collection
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dragoman.interfaces import PAD
from dragoman.layers.cross_entropy import linear_cross_entropy
from dragoman.layers.linear import linear, packed_linear
from dragoman.machine.compute_plan import DEFAULT


class TokenEmbedding(nn.Module):
    """Map ids to vectors, scaled by sqrt(width) unless `scaled` is false (Vaswani et al. 2017, section 3.4).

    Initialised from a normal distribution with standard deviation 1/sqrt(width), so that scaled embeddings and tied logits
    have unit variance. Recurrent models need that as much as a Transformer: smaller embeddings fade on their way through the
    gates, and memorising 200 pairs, which takes a model of Bahdanau et al. 120 steps, then takes more than 300
    (`tests/end_to_end/test_by_heart.py`). The padding vector starts at zero and stays zero unless an output layer shares the
    matrix (with an exception: `OutputLayer.start`); masks hide it in either case.
    """

    def __init__(self, vocabulary: int, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))
        self.scale = math.sqrt(width) if scaled else 1.0
        self.padding = PAD
        self.weight.data[PAD] = 0

    def forward(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        """Look up the ids."""
        return F.embedding(ids, self.weight, padding_idx=self.padding) * self.scale


def move_padding(embedding: TokenEmbedding, padding: int) -> None:
    """Give padding another id before training; the two vectors change places."""
    before, embedding.padding = embedding.padding, padding
    if before != padding:
        embedding.weight.data[[before, padding]] = embedding.weight.data[[padding, before]]


def freeze_embeddings(model: nn.Module, parts: Collection[str] = ("whole",)) -> None:
    """Freeze the token embeddings of parts of a model (`encoder`, `decoder`, `whole`), and layers that share their matrix."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, TokenEmbedding) and ("whole" in parts or name.split(".")[0] in parts):
            module.weight.requires_grad_(False)


class OutputLayer(nn.Module):
    """Map features to logits over the vocabulary; `tied` is an embedding whose matrix is shared.

    If the plan says so, a C++ extension computes the loss.
    """

    needs_weights = False
    """Whether its features contain the attention weights, as those of `layers/mixture.py::MixtureHead` do."""

    def __init__(self, width: int, vocabulary: int, tied: TokenEmbedding | None = None, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = (
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(vocabulary, width))) if tied is None else tied.weight
        )
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.start: int | None = None
        """Padding, if the decoder starts with it: a row of zeros, as Marian's, then stays so, and its bias alone is trained."""
        self.plan = DEFAULT

    def forward(self, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch vocab"]:
        """Multiply features by the matrix."""
        return linear(features, self._matrix, self.bias)

    @property
    def _matrix(self) -> Float[Tensor, "vocab width"]:
        """The matrix, as gradients see it."""
        kept = self.start is None or self.bias is None or not torch.is_grad_enabled()
        return self.weight if kept else _ZerosKept.apply(self.weight, self.start)

    def narrowed(self, ids: Int[Tensor, " kept"]) -> "NarrowedOutput":
        """Return an output layer over `ids` only, with the current weights."""
        return NarrowedOutput(self.weight[ids], None if self.bias is None else self.bias[ids])

    def loss(
        self, features: Float[Tensor, "tokens width"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the label-smoothed and the plain cross-entropy, both summed over tokens."""
        return linear_cross_entropy(
            features, self._matrix, self.bias, labels=labels, smoothing=smoothing, native=self.plan.native_loss
        )


class _ZerosKept(torch.autograd.Function):
    """A matrix of which one row, if it is all zeros, gets no gradient: so it stays as it is, whatever the optimiser."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, row: int) -> Tensor:
        """Return the matrix."""
        ctx.save_for_backward(weight)
        ctx.row = row
        return weight.view_as(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Remove the gradient of a row of zeros, without a look at it, for which a GPU would have to stop."""
        (weight,) = ctx.saved_tensors
        gradients[0][ctx.row] *= weight[ctx.row].any()
        return gradients[0], None


class NarrowedOutput:
    """Map features to logits over part of the vocabulary, for inference."""

    def __init__(self, weight: Float[Tensor, "kept width"], bias: Float[Tensor, " kept"] | None) -> None:
        self.weight = weight
        self.bias = bias
        self.multiply = packed_linear(weight)

    def __call__(self, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch kept"]:
        """Multiply features by the remaining rows."""
        return self.multiply(features, self.bias)

    def loss(
        self, features: Float[Tensor, "tokens width"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both sums of the cross-entropy over the remaining tokens."""
        return linear_cross_entropy(features, self.weight, self.bias, labels=labels, smoothing=smoothing)
