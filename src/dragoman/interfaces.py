"""The nouns that all parts share: batches, what attention reads, what encoders and decoders give and take.

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
    """The sentences before each sentence of a batch in its document, the nearest last; one that is not there is all padding."""

    ids: Int[Tensor, "batch sentence time"]
    mask: Bool[Tensor, "batch sentence time"]


@dataclass(frozen=True)
class Padded:
    """Sentences of different lengths in one rectangle; `mask` is True on real tokens. Padding is on the right."""

    ids: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"]
    previous: Previous | None = None
    """What stood before each sentence, where documents are read."""


@dataclass(frozen=True)
class Batch:
    """Sentence pairs. `source` ends with EOS; `target` begins with BOS and ends with EOS."""

    source: Padded
    target: Padded
    links: Bool[Tensor, "batch target source"] | None = None
    """Where word alignments are known: the source pieces that each label translates; a row without any says nothing."""
    cached_label_positions: Int[Tensor, " tokens"] | None = None
    """What `label_positions` returns, if it is known already."""

    @property
    def inputs(self) -> Int[Tensor, "batch target"]:
        """What the decoder reads: all but the last target token."""
        return self.target.ids[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "batch target"]:
        """What it must predict: all but BOS."""
        return self.target.ids[:, 1:]

    @property
    def real(self) -> Bool[Tensor, "batch target"]:
        """True where a label is a token rather than padding."""
        return self.target.mask[:, 1:]

    @property
    def label_positions(self) -> Int[Tensor, " tokens"]:
        """The numbers of the positions with a real label, counted row by row; as many as the target has tokens."""
        return (
            self.real.flatten().nonzero()[:, 0] if self.cached_label_positions is None else self.cached_label_positions
        )

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on `device`; `label_positions` are found before, since asking a GPU for them would wait for it."""
        if device.type == "cpu":
            return map_tensors(lambda tensor: tensor.to(device), self)
        known = replace(self, cached_label_positions=self.label_positions)
        if device.type == "cuda":
            known = map_tensors(lambda tensor: tensor if tensor.is_cuda else tensor.pin_memory(), known)
        return map_tensors(lambda tensor: tensor.to(device, non_blocking=True), known)


@dataclass(frozen=True)
class KeyValues:
    """What an attention looks up, made by `Attention.prepare`: one row per sentence or hypothesis, one set per head."""

    keys: Float[Tensor, "batch head key _"]
    values: Float[Tensor, "batch head key _"]

    def extend(self, new: "KeyValues") -> "KeyValues":
        """Append `new` along time."""
        return KeyValues(torch.cat([self.keys, new.keys], 2), torch.cat([self.values, new.values], 2))


@dataclass(frozen=True)
class Choice:
    """Source positions that were drawn at random, as training by REINFORCE needs them; sums over heads and layers."""

    log_prob: Float[Tensor, "batch query"]
    """Log-probability of the positions drawn; 0 where none was."""
    entropy: Float[Tensor, "batch query"]
    """Entropy of the weights they were drawn from, in nats."""


@dataclass(frozen=True)
class Attended:
    """The average of the values for each query and, if requested, the weights of that average."""

    context: Float[Tensor, "batch query dim"]
    weights: Float[Tensor, "batch head query key"] | None
    choice: Choice | None = None


@runtime_checkable
class Attention(Protocol):
    """Reads a weighted average of values, weighted by how well queries match keys.

    Self-attention and attention over the source are the same module: they differ only in what is prepared and when. The
    source is prepared once, before the first target position; a position's own keys are prepared as it is reached.
    """

    def prepare(
        self, keys: Float[Tensor, "batch key key_dim"], values: Float[Tensor, "batch key value_dim"], *, offset: int = 0
    ) -> KeyValues:
        """Do once the work that depends on keys and values alone; `offset` is the position of the first key."""
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

        Where `queries` has more rows than `memory`, as many of them, side by side, read each row of `memory`.
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
    """What the objective adds, per target token, for experts out of balance."""


@runtime_checkable
class Head(Protocol):
    """Turns features into logits; for training it goes from features to loss without keeping the logits."""

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
    """What a decoder says at each position.

    `features` are what the output layer `head` reads; `logits` applies it to all of them at once. Training calls
    `head.loss`, so that the tensor of tokens x vocabulary never exists whole.
    """

    features: Float[Tensor, "batch target dim"]
    head: Head
    attention: Float[Tensor, "batch layer head target source"] | None = None
    """Weights over the source, if requested and where the decoder attends to it."""
    penalty: Float[Tensor, ""] | None = None
    choice: Choice | None = None
    """What hard attention drew at random while training by REINFORCE."""

    @property
    def logits(self) -> Float[Tensor, "batch target vocab"]:
        """Unnormalised log-probabilities of the next token."""
        return self.head(self.features)


@dataclass(frozen=True)
class DecoderState(Generic[Source, Past]):
    """All that a decoder carries from one target position to the next.

    `source` is fixed when decoding starts and has one row per sentence; `past` changes at every step and has one row per
    hypothesis. Rows are the first axis of every tensor, and the hypotheses of a sentence stand side by side.
    """

    source: Source
    past: Past

    def expand(self, copies: int) -> "DecoderState[Source, Past]":
        """Let `copies` hypotheses follow each, side by side; they share the source."""
        return DecoderState(self.source, map_tensors(lambda tensor: tensor.repeat_interleave(copies, 0), self.past))

    def repeat(self, copies: int) -> "DecoderState[Source, Past]":
        """Turn each row into `copies` equal rows, side by side, which may then go their own ways."""
        return map_tensors(lambda tensor: tensor.repeat_interleave(copies, 0), self)

    def reorder(self, rows: Int[Tensor, " rows"]) -> "DecoderState[Source, Past]":
        """Follow hypotheses to new rows of the same sentence; `source` need not move."""
        return DecoderState(self.source, map_tensors(lambda tensor: tensor.index_select(0, rows), self.past))

    def select(
        self, rows: Int[Tensor, " rows"], sentences: Int[Tensor, " sentences"] | None = None
    ) -> "DecoderState[Source, Past]":
        """Keep only the hypotheses `rows`, and of the source the rows `sentences`, or `rows` where each has its own."""
        kept = rows if sentences is None else sentences
        source = map_tensors(lambda tensor: tensor.index_select(0, kept), self.source)
        return DecoderState(source, map_tensors(lambda tensor: tensor.index_select(0, rows), self.past))


@runtime_checkable
class Encoder(Protocol):
    """Reads source sentences."""

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
        """Read the encoded source once and return the state before the first position."""
        ...

    def __call__(
        self, tokens: Int[Tensor, "batch target"], state: DecoderState[Any, Any], *, need_weights: bool = False
    ) -> tuple[DecoderOutput, DecoderState[Any, Any]]:
        """Read `tokens` after what `state` has seen; predict the token after each."""
        ...


@runtime_checkable
class Step(Protocol):
    """One position of decoding: all that search knows of a model, or of an ensemble of them."""

    def __call__(self, tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        """Return unnormalised log-probabilities of the next token of each row, and the state after it."""
        ...


@dataclass(frozen=True)
class Loss:
    """A sum over target tokens, and how many there were: the mean is taken once, over all of them."""

    total: Float[Tensor, ""]
    tokens: int
    plain: Float[Tensor, ""]
    """The sum without label smoothing and penalties, for perplexity; carries no gradient."""
