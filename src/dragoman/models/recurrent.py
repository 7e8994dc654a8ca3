"""Shared parts of the recurrent encoder-decoders: the encoder, the bridge to the decoder's initial state, decoder bases."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.lookup import LookupOptions
from dragoman.attention.scores import build_score
from dragoman.attention.sharing import for_each_hypothesis
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attended, DecoderOutput, DecoderState, Encoded, Padded
from dragoman.layers.attentive import AttendAfter, AttendBefore, AttendedSource, AttentiveOutput, attend_and_step
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.lexical import LexicalModule
from dragoman.layers.mixture import MixtureHead, mixture_features
from dragoman.layers.recurrent import BidirectionalStack, RecurrentStack, State
from dragoman.models.rnn_settings import RecurrentSettings


@dataclass(frozen=True)
class RecurrentPast:
    """The past of a recurrent decoder: its hidden vectors, what is fed into the next step, and the number of tokens so far.

    What is fed is the last attentional vector (input feeding) or the last predictions of each source position (posterior
    attention).
    """

    hidden: State
    fed: Float[Tensor, "batch dim"] | None = None
    position: int = 0


RecurrentState = DecoderState[AttendedSource, RecurrentPast]


class RecurrentEncoder(nn.Module):
    """Embed source tokens and run a recurrent stack over them, in both directions by default."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.hands_on_embeddings = settings.lexical
        self.dropout = Dropout(settings.outer)
        self.stack = BidirectionalStack(
            settings.cell,
            settings.embedding,
            settings.direction_size,
            layers=settings.layers,
            dropout=settings.dropout,
            bidirectional=settings.bidirectional,
        )

    def forward(self, source: Padded) -> Encoded:
        """Return the last layer's state at every position, and the final state of every layer."""
        embedded = self.dropout(self.embedding(source.ids))
        states, final = self.stack(embedded, source.mask.sum(1))
        return Encoded(
            self.dropout(states), source.mask, final, embedded=embedded if self.hands_on_embeddings else None
        )


class Bridge(nn.Module):
    """Compute the decoder's initial state from the encoder's final one: tanh(W h), or a copy of one direction of equal size.

    Deviation from Bahdanau et al. 2015, appendix A.2.2: W reads both directions, not only the backward one. An LSTM's cell
    state passes through its own W without tanh.
    """

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        copies = settings.encoder_output_size == settings.hidden and not settings.bidirectional
        parts = 1 if settings.cell == "gru" else 2
        self.maps = (
            nn.ModuleList()
            if copies
            else nn.ModuleList(nn.Linear(settings.encoder_output_size, settings.hidden) for _ in range(parts))
        )

    def forward(self, final: tuple[Float[Tensor, "batch layer encoded"], ...]) -> State:
        """Map each part of the encoder's final state."""
        if not self.maps:
            return final
        mapped = [layer(part) for layer, part in zip(self.maps, final, strict=True)]
        return (torch.tanh(mapped[0]), *mapped[1:])


class RecurrentDecoder(nn.Module):
    """The parts that all recurrent decoders share: embedding, stack, bridge and output layer."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int, *, features: int) -> None:
        """Build the shared parts: `extra` inputs of the stack next to the embedding, `features` inputs of the output."""
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.stack = RecurrentStack(
            settings.cell, settings.embedding + extra, settings.hidden, layers=settings.layers, dropout=settings.dropout
        )
        self.bridge = Bridge(settings)
        self.dropout = Dropout(settings.outer)
        self.narrow = nn.Linear(features, settings.embedding) if settings.tied else nn.Identity()
        width = settings.embedding if settings.tied else features
        output = OutputLayer(width, vocabulary, self.embedding if settings.tied else None)
        self.head: OutputLayer | MixtureHead = MixtureHead(output) if settings.is_mixture else output


class AttendingDecoder(RecurrentDecoder, ABC):
    """A recurrent decoder that attends to the encoder's states; the source is prepared once."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int, *, features: int) -> None:
        super().__init__(settings, vocabulary, extra, features=features)
        score = build_score(
            settings.score,
            settings.hidden,
            settings.encoder_output_size,
            hidden=settings.hidden,
            positions=settings.max_positions,
        )
        kind = LookupOptions(settings.weights, settings.window, settings.hard)
        self.attention = SingleHead(score, settings.hidden, kind, dropout=settings.attention_dropout)
        self.lexical = LexicalModule(settings.embedding) if settings.lexical else None
        self.needs_weights = self.head.needs_weights or settings.lexical

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the encoder's states for the score and compute the initial state."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        past = RecurrentPast(self.bridge(encoded.final), self._first_fed(encoded))
        return DecoderState(AttendedSource(encoded.mask, memory, encoded.embedded), past)

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Return what is fed into the first step, next to the embedding and the state, if anything."""
        return None

    @abstractmethod
    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Return the features of the output layer from state, context and embedding, whose leading axes may broadcast."""

    def _loop(
        self,
        embedded: Float[Tensor, "batch target embedding"],
        state: RecurrentState,
        order: AttendBefore | AttendAfter,
        *,
        need_weights: bool,
    ) -> AttentiveOutput:
        """Attend and step at each position."""
        return attend_and_step(
            self.stack,
            self.attention,
            embedded,
            source=state.source,
            state=state.past.hidden,
            order=order,
            offset=state.past.position,
            need_weights=need_weights or self.needs_weights,
        )

    def _mixture(
        self,
        states: Float[Tensor, "batch target hidden"],
        embedded: Float[Tensor, "batch target embedding"],
        source: AttendedSource,
        *,
        weights: Float[Tensor, "batch 1 target source"] | None,
    ) -> Float[Tensor, "batch target packed"]:
        """Return the features of each source position, as if it were the whole context, with its weight."""
        assert weights is not None
        values = for_each_hypothesis(source.memory.values, len(states))
        features = self.narrow(self.dropout(self._features(states[:, :, None], values, embedded[:, :, None])))
        if self.lexical is not None and source.embedded is not None:
            features = features + self.lexical.translate(for_each_hypothesis(source.embedded, len(states)))[:, None]
        return mixture_features(features, weights[:, 0])

    def _output(
        self,
        states: Float[Tensor, "batch target hidden"],
        embedded: Float[Tensor, "batch target embedding"],
        source: AttendedSource,
        *,
        attended: Attended,
        need_weights: bool,
    ) -> DecoderOutput:
        """Predict from the average of the source, or from each of its positions if the head is a mixture."""
        if self.head.needs_weights:
            features = self._mixture(states, embedded, source, weights=attended.weights)
        else:
            features = self.narrow(self.dropout(self._features(states, attended.context, embedded)))
            if self.lexical is not None and attended.weights is not None and source.embedded is not None:
                features = features + self.lexical(attended.weights[:, 0], source.embedded)
        weights = attended.weights[:, None] if need_weights and attended.weights is not None else None
        return DecoderOutput(features, self.head, weights, choice=attended.choice)
