"""Translation of documents with hierarchical attention to the previous sentences (Miculicich et al. 2018)."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.multi_head import MultiHead
from dragoman.interfaces import Encoded, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import TokenEmbedding
from dragoman.layers.experts import sum_penalties
from dragoman.layers.feed_forward import FeedForward
from dragoman.models.capabilities import Capabilities
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerEncoder, build_transformer
from dragoman.models.transformer_settings import TransformerSettings


class DocumentSettings(TransformerSettings):
    """A Transformer whose encoder also reads previous sentences, for corpora that say where documents begin."""

    kind: Literal["document"] = "document"  # type: ignore[assignment]
    previous: int = Field(3, ge=1)
    """Number of previous source sentences of the same document that are read."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        return replace(super().capabilities, previous=self.previous, one_program=False)


@dataclass(frozen=True)
class Gated:
    """Source states combined with information from previous sentences, and the gate and weights behind them."""

    states: Float[Tensor, "batch source width"]
    kept: Float[Tensor, "batch source"]
    """The gate, averaged over features: 1 if a state is unchanged, 0 if it comes from previous sentences only."""
    words: Float[Tensor, "batch head source sentence word"] | None = None
    """If requested: weights over the words of each previous sentence; 0 for a missing sentence."""
    sentences: Float[Tensor, "batch head source sentence"] | None = None
    """If requested: weights over the previous sentences."""
    penalty: Float[Tensor, ""] | None = None
    """The penalty for imbalanced experts in the encoder, if it has any, summed over both encodings."""
    embedded: Float[Tensor, "batch source width"] | None = None
    """Source embeddings, for a lexical module."""


class HierarchicalAttention(nn.Module):
    """Attention to the words of each previous sentence, then to these sentences, added to the states by a gate (section 2).

    s_j = MultiHead(f_w(h), words of sentence j), d = FFN(MultiHead(f_s(h), s_1 .. s_k)), lambda = sigmoid(W_h h + W_d d), h~
    = lambda h + (1 - lambda) d. The linear maps f_w and f_s are merged with the query projections of the heads. A sentence
    without previous ones keeps its states; the paper does not cover this case.
    """

    def __init__(self, settings: DocumentSettings) -> None:
        super().__init__()
        width, heads = settings.width, settings.heads
        self.words = MultiHead(width, heads, dropout=settings.attention_dropout)
        self.sentences = MultiHead(width, heads, dropout=settings.attention_dropout)
        self.feed_forward = FeedForward(width, settings.feed_forward, settings.feed_forward_dropout)
        self.dropout = Dropout(settings.dropout)
        self.gate = nn.Linear(2 * width, width, bias=False)

    def forward(
        self,
        states: Float[Tensor, "batch source width"],
        previous: Float[Tensor, "batch sentence word width"],
        mask: Bool[Tensor, "batch sentence word"],
        *,
        need_weights: bool = False,
    ) -> Gated:
        """Let every position attend to the real words of the previous sentences."""
        batch, length, _ = states.shape
        sentences = previous.shape[1]

        words = previous.flatten(0, 1)
        queries = states.repeat_interleave(sentences, 0)
        may_see = masks.to_source(mask.flatten(0, 1))
        inside = self.words(queries, self.words.prepare(words, words), may_see, need_weights=need_weights)

        # Each position has its own summaries of the sentences, so each becomes a separate row with one query.
        summaries = inside.context.unflatten(0, (batch, sentences)).transpose(1, 2).flatten(0, 1)
        there = mask.any(-1)
        may_see = masks.to_source(there.repeat_interleave(length, 0))
        memory = self.sentences.prepare(summaries, summaries)
        across = self.sentences(states.flatten(0, 1)[:, None], memory, may_see, need_weights=need_weights)

        found = self.dropout(self.feed_forward(across.context.view_as(states)))
        gate = self.gate(torch.cat([states, found], -1)).sigmoid().masked_fill(~there.any(1)[:, None, None], 1.0)
        return Gated(
            gate * states + (1 - gate) * found,
            gate.mean(-1),
            None if inside.weights is None else inside.weights.unflatten(0, (batch, sentences)).permute(0, 2, 3, 1, 4),
            None if across.weights is None else across.weights.squeeze(2).unflatten(0, (batch, length)).transpose(1, 2),
        )


class DocumentEncoder(TransformerEncoder):
    """The Transformer's encoder, then hierarchical attention to the previous sentences, encoded by the same encoder.

    Its parameters other than `hierarchy` have the names of the Transformer's. Gradients flow into the previous sentences
    too. If there are more previous sentences than the setting, the nearest are used.
    """

    def __init__(self, settings: DocumentSettings, embedding: TokenEmbedding) -> None:
        super().__init__(settings, embedding)
        self.previous = settings.previous
        self.hierarchy = HierarchicalAttention(settings)

    def forward(self, source: Padded) -> Encoded:
        """Return one state per source position."""
        gated = self.read(source)
        return Encoded(gated.states, source.mask, penalty=gated.penalty, embedded=gated.embedded)

    def read(self, source: Padded, *, need_weights: bool = False) -> Gated:
        """Return the states and, if requested, the weights over the previous sentences."""
        encoded = super().forward(source)
        if source.previous is None:
            kept = encoded.states.new_ones(source.ids.shape)
            return Gated(encoded.states, kept, penalty=encoded.penalty, embedded=encoded.embedded)
        ids, mask = source.previous.ids[:, -self.previous :], source.previous.mask[:, -self.previous :]
        before = super().forward(Padded(ids.flatten(0, 1), mask.flatten(0, 1)))
        words = before.states.unflatten(0, ids.shape[:2])
        gated = self.hierarchy(encoded.states, words, mask, need_weights=need_weights)
        return replace(gated, penalty=sum_penalties([encoded.penalty, before.penalty]), embedded=encoded.embedded)


def build_document(settings: DocumentSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the model that `settings` describe: the Transformer of the same settings with another encoder."""
    return build_transformer(settings, vocabularies, encoder=DocumentEncoder, previous=settings.previous)
