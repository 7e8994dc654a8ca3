"""Token embeddings and the output layer, which may share one matrix."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.interfaces import PAD
from dragoman.layers.cross_entropy import linear_cross_entropy
from dragoman.layers.linear import linear, packed_linear
from dragoman.machine.compute_plan import DEFAULT


class TokenEmbedding(nn.Module):
    """Maps ids to vectors, scaled by sqrt(width) unless `scaled` is false (Vaswani et al. 2017, section 3.4).

    Starts as a normal distribution of deviation 1/sqrt(width), so that scaled embeddings have unit variance and tied
    logits too. Recurrent models need that as much as a Transformer: smaller embeddings fade on their way through the gates,
    and 200 pairs that a model of Bahdanau et al. learns by heart in 120 steps then take more than 300
    (`tests/end_to_end/test_by_heart.py`). The vector of padding starts at zero, and stays zero unless an output layer shares
    the matrix; masks hide it in either case.
    """

    def __init__(self, vocabulary: int, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))
        self.scale = math.sqrt(width) if scaled else 1.0
        self.weight.data[PAD] = 0

    def forward(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        """Look the ids up."""
        return F.embedding(ids, self.weight, padding_idx=PAD) * self.scale


class OutputLayer(nn.Module):
    """Maps features to logits over the vocabulary; `tied` is an embedding whose matrix it shares.

    Where the plan is native, the C++ parts compute the loss.
    """

    needs_weights = False
    """Whether its features are made of the attention weights, as those of `layers/mixture.py::MixtureHead` are."""

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
        """Return an output layer over `ids` alone, with these weights as they are now."""
        return NarrowedOutput(self.weight[ids], None if self.bias is None else self.bias[ids])

    def loss(
        self, features: Float[Tensor, "tokens width"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the label-smoothed and the plain cross-entropy, both summed over tokens."""
        return linear_cross_entropy(
            features, self.weight, self.bias, labels=labels, smoothing=smoothing, native=self.plan.native
        )


class NarrowedOutput:
    """Maps features to logits over a part of the vocabulary, for translating."""

    def __init__(self, weight: Float[Tensor, "kept width"], bias: Float[Tensor, " kept"] | None) -> None:
        self.weight = weight
        self.bias = bias
        self.multiply = packed_linear(weight)

    def __call__(self, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch kept"]:
        """Multiply features by the rows that are left."""
        return self.multiply(features, self.bias)

    def loss(
        self, features: Float[Tensor, "tokens width"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both sums of the cross-entropy over what is left."""
        return linear_cross_entropy(features, self.weight, self.bias, labels=labels, smoothing=smoothing)
