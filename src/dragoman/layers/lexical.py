"""A lexical module: what the decoder attends to, word by word, speaks for its translation directly."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.attend import average
from dragoman.attention.sharing import for_each_hypothesis


class LexicalModule(nn.Module):
    """Add the attended source embeddings to the input of the output layer: l = tanh(W f) + f with f = tanh(sum_s a_s e_s).

    Everything else that reaches the output layer has come through the encoder and the decoder, which have to learn first to
    carry it. This path needs nothing but the attention weights a and the embeddings e of the source: a lexicon. Source: Nguyen
    and Chiang 2018 ("Improving lexical choice in neural machine translation"), section 4. Deviation: they give l an output
    layer of its own; here it shares the model's, whose rows are target embeddings, so it costs next to nothing.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(
        self, weights: Float[Tensor, "batch target source"], embedded: Float[Tensor, "sentence source width"]
    ) -> Float[Tensor, "batch target width"]:
        """Return what the positions attended to add; consecutive rows of `weights` may share each row of `embedded`."""
        return self.translate(average(weights.to(embedded.dtype), for_each_hypothesis(embedded, len(weights))))

    def translate(self, embedded: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return what source embeddings, or averages of them, add."""
        seen = torch.tanh(embedded)
        return torch.tanh(self.map(seen)) + seen
