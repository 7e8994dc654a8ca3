"""Attention with one head: the classic attention of recurrent decoders."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.lookup import Lookup, LookupOptions
from dragoman.attention.scores import Score, ScoreParts, match
from dragoman.attention.sharing import attend_shared
from dragoman.interfaces import Attended, KeyValues


class SingleHead(nn.Module):
    """Attention with one head and any score: o = sum_i softmax(a)_i v_i with a_i = score(q, k_i).

    Values are not projected, so the context has their size. `kind` changes how scores become weights; `query_dim` is the
    size of the queries; `dropout` applies to the weights.
    """

    def __init__(
        self, score: Score, query_dim: int, kind: LookupOptions | None = None, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.score = score
        self.query_dim = query_dim
        self.lookup = Lookup(query_dim, kind or LookupOptions(), dropout=dropout)

    def prepare(
        self, keys: Float[Tensor, "batch key key_dim"], values: Float[Tensor, "batch key value_dim"], *, offset: int = 0
    ) -> KeyValues:
        """Prepare the keys for the score."""
        return KeyValues(self.score.prepare(keys)[:, None], values[:, None])

    def score_parts(self) -> ScoreParts | None:
        """Return the score's parts if this attention is at present just a softmax of such a score and an average."""
        drops, same = self.training and self.lookup.dropout > 0, type(self) is SingleHead
        return None if drops or not same or not self.lookup.plain else self.score.parts(self.query_dim)

    def forward(
        self,
        queries: Float[Tensor, "batch query query_dim"],
        memory: KeyValues,
        mask: Bool[Tensor, "#sentence #query key"] | None = None,
        *,
        offset: int = 0,
        need_weights: bool = False,
    ) -> Attended:
        """Average the values in `memory` for each query."""
        one_head = None if mask is None else mask[:, None]

        def attend(queries: Tensor, copies: int) -> Attended:
            alone = queries[:, None]
            scores = match(self.score, alone, memory.keys, count=memory.values.shape[-2])
            found = self.lookup(alone, scores, memory, mask=one_head, offset=offset, copies=copies)
            return Attended(found.context[:, 0], found.weights if need_weights else None, found.choice)

        return attend_shared(attend, queries, memory)
