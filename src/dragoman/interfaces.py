"""Shared data types and protocols: batches, attention, encoders and decoders.

A decoder maps (tokens, state) to (output, state), and one method serves training and search. State is a value: it comes
in as an argument and goes out as a result. True in a mask means "may attend" or "is a real token".
"""

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.special_ids import BOS as BOS
from dragoman.special_ids import EOS as EOS
from dragoman.special_ids import PAD as PAD
from dragoman.special_ids import UNK as UNK
from dragoman.tree import map_tensors

Source = TypeVar("Source")
Past = TypeVar("Past")


@dataclass(frozen=True)
class Previous:
    """The sentences before each sentence of a batch in its document, the nearest last; a missing one is all padding."""

    ids: Int[Tensor, "batch sentence time"]
    mask: Bool[Tensor, "batch sentence time"]


@dataclass(frozen=True)
class Padded:
    """Sentences of different lengths in one rectangle; `mask` is True on real tokens. Padding is on the right."""

    ids: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"]
    previous: Previous | None = None
    """The sentences before each sentence, if documents are read."""


@dataclass(frozen=True)
class Batch:
    """Sentence pairs. `source` ends with EOS; `target` starts with BOS and ends with EOS."""

    source: Padded
    target: Padded
    links: Bool[Tensor, "batch target source"] | None = None
    """If word alignments are known: the source tokens that each label translates; a row without any is ignored."""
    cached_label_positions: Int[Tensor, " tokens"] | None = None
    """The result of `label_positions`, if already known."""

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """Return the decoder inputs: all but the last target token."""
        return self.target.ids[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "batch target"]:
        """Return the tokens to predict: all but BOS."""
        return self.target.ids[:, 1:]

    @property
    def real(self) -> Bool[Tensor, "batch target"]:
        """Return True where a label is a token rather than padding."""
        return self.target.mask[:, 1:]

    @property
    def label_positions(self) -> Int[Tensor, " tokens"]:
        """Return the indices of positions with a real label, counted row by row."""
        return (
            self.real.flatten().nonzero()[:, 0] if self.cached_label_positions is None else self.cached_label_positions
        )

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on `device`; `label_positions` are computed first, because on a GPU that would synchronise."""
        if device.type == "cpu":
            return map_tensors(lambda tensor: tensor.to(device), self)
        known = replace(self, cached_label_positions=self.label_positions)
        if device.type == "cuda":
            known = map_tensors(lambda tensor: tensor if tensor.is_cuda else tensor.pin_memory(), known)
        return map_tensors(lambda tensor: tensor.to(device, non_blocking=True), known)


@dataclass(frozen=True)
class KeyValues:
    """Prepared keys and values from `Attention.prepare`: one row per sentence or hypothesis, one set per head."""

    keys: Float[Tensor, "batch head key _"]
    values: Float[Tensor, "batch head key _"]

    def extend(self, new: "KeyValues") -> "KeyValues":
        """Append `new` along time."""
        return KeyValues(torch.cat([self.keys, new.keys], 2), torch.cat([self.values, new.values], 2))


@dataclass(frozen=True)
class Choice:
    """Sampled source positions, for training with REINFORCE; sums over heads and layers."""

    log_prob: Float[Tensor, "batch query"]
    """Log-probability of the sampled positions; 0 if there is none."""
    entropy: Float[Tensor, "batch query"]
    """Entropy of the weights they were sampled from, in nats."""


@dataclass(frozen=True)
class Attended:
    """The average of the values for each query and, if requested, the weights of that average."""

    context: Float[Tensor, "batch query dim"]
    weights: Float[Tensor, "batch head query key"] | None
    choice: Choice | None = None


@runtime_checkable
class Attention(Protocol):
    """Computes an average of values, weighted by how well queries match keys.

    Self-attention and attention over the source are the same module: they differ only in what is prepared and when. The
    source is prepared once, before the first target position; a position's own keys are prepared as it is reached.
    """

    def prepare(
        self, keys: Float[Tensor, "batch key key_dim"], values: Float[Tensor, "batch key value_dim"], *, offset: int = 0
    ) -> KeyValues:
        """Do the work that depends only on keys and values; `offset` is the position of the first key."""
        ...

    def __call__(
        self,
        queries: Float[Tensor, "batch query query_dim"],
        memory: KeyValues,
        mask: Bool[Tensor, "#sentence #query key"] | None = None,
        *,
        offset: int = 0,
        need_weights: bool = False,
    ) -> Attended:
        """Average the values in `memory` for each query; `offset` is the position of the first query.

        If `queries` has more rows than `memory`, consecutive rows share each row of `memory`.
        """
        ...


@dataclass(frozen=True)
class Encoded:
    """A batch of source sentences after the encoder."""

    states: Float[Tensor, "batch source dim"]
    mask: Bool[Tensor, "batch source"]
    final: tuple[Float[Tensor, "batch layer _"], ...] = ()
    """Last hidden state of each recurrent layer (and cell state, for an LSTM); empty for other encoders."""
    penalty: Float[Tensor, ""] | None = None
    """Penalty per target token that the objective adds for imbalanced experts."""
    embedded: Float[Tensor, "batch source embedding"] | None = None
    """Source embeddings, for a decoder that translates them one by one (`layers/lexical.py`)."""


@runtime_checkable
class Head(Protocol):
    """Maps features to logits; in training, from features to the loss without keeping the logits."""

    def __call__(self, features: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """Return unnormalised log-probabilities."""
        ...

    def loss(
        self, features: Float[Tensor, "tokens dim"], labels: Int[Tensor, " tokens"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return two sums over tokens: the label-smoothed cross-entropy, and the plain one without gradient."""
        ...


@dataclass(frozen=True)
class DecoderOutput:
    """The output of a decoder at each position.

    `features` are the input of the output layer `head`; `logits` applies it to all of them at once. Training calls
    `head.loss`, so that the tokens x vocabulary tensor is never materialised.
    """

    features: Float[Tensor, "batch target dim"]
    head: Head
    attention: Float[Tensor, "batch layer head target source"] | None = None
    """Weights over the source, if requested and if the decoder attends to it."""
    penalty: Float[Tensor, ""] | None = None
    choice: Choice | None = None
    """What hard attention sampled in training with REINFORCE."""

    @property
    def logits(self) -> Float[Tensor, "batch target vocab"]:
        """Return unnormalised log-probabilities of the next token."""
        return self.head(self.features)


@dataclass(frozen=True)
class DecoderState(Generic[Source, Past]):
    """Everything that a decoder carries from one target position to the next.

    `source` is fixed when decoding starts and has one row per sentence; `past` changes at every step and has one row per
    hypothesis. Rows are the first axis of every tensor, and the hypotheses of a sentence are consecutive.
    """

    source: Source
    past: Past

    def expand(self, copies: int) -> "DecoderState[Source, Past]":
        """Turn each hypothesis into `copies` consecutive ones, which share the source."""
        return DecoderState(self.source, map_tensors(lambda tensor: tensor.repeat_interleave(copies, 0), self.past))

    def repeat(self, copies: int) -> "DecoderState[Source, Past]":
        """Turn each row into `copies` consecutive equal rows, which are independent from then on."""
        return map_tensors(lambda tensor: tensor.repeat_interleave(copies, 0), self)

    def reorder(self, rows: Int[Tensor, " rows"]) -> "DecoderState[Source, Past]":
        """Reorder hypotheses within each sentence; `source` stays as it is."""
        return DecoderState(self.source, map_tensors(lambda tensor: tensor.index_select(0, rows), self.past))

    def select(
        self, rows: Int[Tensor, " rows"], sentences: Int[Tensor, " sentences"] | None = None
    ) -> "DecoderState[Source, Past]":
        """Keep only the hypotheses `rows`, and the rows `sentences` of the source, or `rows` if each has its own."""
        kept = rows if sentences is None else sentences
        source = map_tensors(lambda tensor: tensor.index_select(0, kept), self.source)
        return DecoderState(source, map_tensors(lambda tensor: tensor.index_select(0, rows), self.past))


@runtime_checkable
class Encoder(Protocol):
    """Encodes source sentences."""

    def __call__(self, source: Padded) -> Encoded:
        """Return one state per source position."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """Predicts each next target token.

    One method serves training and search: training passes all target positions and a fresh state, search passes one
    position and the state it got last time.
    """

    def start(self, encoded: Encoded) -> DecoderState[Any, Any]:
        """Prepare the encoded source and return the initial state."""
        ...

    def __call__(
        self, tokens: Int[Tensor, "batch target"], state: DecoderState[Any, Any], *, need_weights: bool = False
    ) -> tuple[DecoderOutput, DecoderState[Any, Any]]:
        """Process `tokens` after those in `state`; predict the token after each."""
        ...


@runtime_checkable
class Step(Protocol):
    """One position of decoding: the only interface between search and a model or ensemble."""

    def __call__(self, tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        """Return unnormalised log-probabilities of the next token of each row, and the state after it."""
        ...


@dataclass(frozen=True)
class Loss:
    """A sum over target tokens, and their number: the mean is taken once, over all of them."""

    total: Float[Tensor, ""]
    tokens: int
    plain: Float[Tensor, ""]
    """The sum without label smoothing and penalties, for perplexity; carries no gradient."""
