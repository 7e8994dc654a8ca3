"""Hierarchical attention networks (Yang et al. 2016): words form sentences, sentences form a document, which gets a label."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention.lookup import LookupOptions
from dragoman.attention.masks import from_lengths
from dragoman.attention.scores import build_score
from dragoman.attention.settings import WeightsName
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import EOS, Head, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.recurrent import BidirectionalStack, CellName
from dragoman.models.capabilities import Capabilities
from dragoman.settings import Settings


class ClassifierSettings(Settings):
    """A document classifier; the default sizes are those of Yang et al. 2016, section 3.3."""

    cell: CellName = "gru"
    """Recurrent cell at both levels: gru or lstm."""
    embedding: int = Field(200, ge=1)
    """Size of word vectors."""
    hidden: int = Field(50, ge=1)
    """Size of each direction of the recurrent layers, at both levels."""
    layers: int = Field(1, ge=1, le=1000)
    """Recurrent layers at each level."""
    score: Literal["additive", "dot", "scaled_dot", "general", "scaled_general", "concat", "cosine"] = "additive"
    """How words and sentences are scored; additive is the paper's."""
    attention: int = Field(100, ge=1)
    """Hidden size of the scores additive and concat."""
    weights: WeightsName = "softmax"
    """How scores become weights; sparsemax and entmax15 give most words exactly 0."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on word vectors, sentence vectors and the document vector."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        return Capabilities(purpose="classify")


@dataclass(frozen=True)
class Classified:
    """The predictions of a classifier for documents, and the attention weights behind them."""

    features: Float[Tensor, "document dim"]
    head: Head
    words: Float[Tensor, "sentence word"]
    """Weights of the words in each sentence; the sentences of all documents are concatenated."""
    sentences: Float[Tensor, "document _"]
    """Weights of the sentences in each document."""

    @property
    def logits(self) -> Float[Tensor, "document label"]:
        """Unnormalised log-probabilities of the labels."""
        return self.head(self.features)


class Level(nn.Module):
    """Encode the parts of each whole in both directions and average them with attention (Yang et al. 2016, section 2.2).

    The paper's u = tanh(W h + b), softmax(u^T u_w) is the additive score with a query that is the same for every text: W is
    W_k, b is W_q q, u_w is v. So the query is learned here, and any other score can be used instead.
    """

    def __init__(self, settings: ClassifierSettings, inputs: int) -> None:
        super().__init__()
        self.width = 2 * settings.hidden
        self.reader = BidirectionalStack(
            settings.cell, inputs, settings.hidden, layers=settings.layers, dropout=settings.dropout, bidirectional=True
        )
        self.query = nn.Parameter(nn.init.normal_(torch.empty(self.width), std=self.width**-0.5))
        score = build_score(settings.score, self.width, self.width, hidden=settings.attention, positions=1)
        self.attention = SingleHead(score, self.width, LookupOptions(weights=settings.weights))

    def forward(
        self, parts: Float[Tensor, "whole part dim"], lengths: Int[Tensor, " whole"]
    ) -> tuple[Float[Tensor, "whole width"], Float[Tensor, "whole part"]]:
        """Return a vector for each whole, the first `lengths` parts of which are real, and the weights of its parts."""
        states, _ = self.reader(parts, lengths)
        queries = self.query.expand(len(parts), 1, self.width)
        mask = from_lengths(lengths, parts.shape[1])
        found = self.attention(queries, self.attention.prepare(states, states), mask, need_weights=True)
        return found.context[:, 0], found.weights[:, 0, 0]


class DocumentClassifier(nn.Module):
    """Words to sentences, sentences to a document, the document to a label (Yang et al. 2016, sections 2.2 and 2.3).

    Deviations: word vectors are trained with the rest rather than pretrained, there is dropout, and the score can be chosen.
    """

    def __init__(self, settings: ClassifierSettings, vocabulary: int, labels: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.words = Level(settings, settings.embedding)
        self.sentences = Level(settings, self.words.width)
        self.dropout = Dropout(settings.dropout)
        self.head = OutputLayer(self.sentences.width, labels)

    def forward(self, documents: Padded) -> Classified:
        """Classify documents whose sentences, of at least one word each, end with EOS."""
        cut = cut_at_ends(documents)
        embedded = self.dropout(self.embedding(in_rows(cut.words, cut.lengths)))
        vectors, word_weights = self.words(embedded, cut.lengths)
        document, sentence_weights = self.sentences(in_rows(self.dropout(vectors), cut.sentences), cut.sentences)
        return Classified(self.dropout(document), self.head, word_weights, sentence_weights)


@dataclass(frozen=True)
class CutDocuments:
    """Documents without EOS and padding, all sentences one after another."""

    words: Int[Tensor, " words"]
    lengths: Int[Tensor, " sentences"]
    """How many words each sentence has."""
    sentences: Int[Tensor, " documents"]
    """How many sentences each document has."""


def cut_at_ends(documents: Padded) -> CutDocuments:
    """Cut documents into sentences, each of which ends with EOS.

    >>> ids = torch.tensor([[7, 8, 2, 9, 2], [7, 2, 0, 0, 0]])
    >>> cut = cut_at_ends(Padded(ids, ids > 0))
    >>> cut.words.tolist(), cut.lengths.tolist(), cut.sentences.tolist()
    ([7, 8, 9, 7], [2, 1, 1], [2, 1])
    """
    real = documents.ids[documents.mask]
    ends = (real == EOS).nonzero()[:, 0]
    lengths = ends.diff(prepend=ends.new_full((1,), -1)) - 1
    return CutDocuments(real[real != EOS], lengths, ((documents.ids == EOS) & documents.mask).sum(1))


def in_rows(flat: Shaped[Tensor, " item *rest"], lengths: Int[Tensor, " row"]) -> Shaped[Tensor, "row longest *rest"]:
    """Put items into rows of these lengths, zeros after each: (item, ...) becomes (row, longest, ...).

    >>> in_rows(torch.tensor([7, 8, 9]), torch.tensor([1, 2])).tolist()
    [[7, 0], [8, 9]]
    """
    mask = from_lengths(lengths, int(lengths.max()))[:, 0]
    rows = flat.new_zeros(*mask.shape, *flat.shape[1:])
    rows[mask] = flat
    return rows
