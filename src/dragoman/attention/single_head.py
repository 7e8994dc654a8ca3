"""Attention with one head: the classic attention of recurrent decoders."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.attend import attend
from dragoman.attention.scores import Score
from dragoman.interfaces import Attended, KeyValues


class SingleHead(nn.Module):
    """Attention with one head, around any score: o = sum_i softmax(a)_i v_i with a_i = score(q, k_i).

    Values are not projected: the context has their size. `dropout` applies to the weights.
    """

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        self.score = score
        self.dropout = dropout

    def prepare(
        self, keys: Float[Tensor, "batch key key_dim"], values: Float[Tensor, "batch key value_dim"]
    ) -> KeyValues:
        """Let the score do its work on the keys."""
        return KeyValues(self.score.prepare(keys)[:, None], values[:, None])

    def forward(
        self,
        queries: Float[Tensor, "batch query query_dim"],
        memory: KeyValues,
        mask: Bool[Tensor, "#batch #query key"] | None = None,
        *,
        need_weights: bool = False,
    ) -> Attended:
        """Average the values in `memory` for each query."""
        scores = self.score(queries, memory.keys[:, 0])
        dropout = self.dropout if self.training else 0.0
        context, weights = attend(scores, memory.values[:, 0], mask, dropout=dropout)
        return Attended(context, weights[:, None] if need_weights else None)
