"""Token embeddings and the output layer, which may share one matrix."""

import math
from collections.abc import Collection

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

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
    matrix; masks hide it in either case.
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

    If the plan is native, the C++ extension computes the loss.
    """

    needs_weights = False
    """Whether its features contain the attention weights, as those of `layers/mixture.py::MixtureHead` do."""

    def __init__(self, width: int, vocabulary: int, tied: TokenEmbedding | None = None, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = (
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(vocabulary, width))) if tied is None else tied.weight
        )
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.plan = DEFAULT

    def forward(self, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch vocab"]:
        """Multiply features by the matrix."""
        return linear(features, self.weight, self.bias)

    def narrowed(self, ids: Int[Tensor, " kept"]) -> "NarrowedOutput":
        """Return an output layer over `ids` only, with the current weights."""
        return NarrowedOutput(self.weight[ids], None if self.bias is None else self.bias[ids])

    def loss(
        self, features: Float[Tensor, "tokens width"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the label-smoothed and the plain cross-entropy, both summed over tokens."""
        return linear_cross_entropy(
            features, self.weight, self.bias, labels=labels, smoothing=smoothing, native=self.plan.native
        )


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
