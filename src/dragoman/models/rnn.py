"""Recurrent encoder-decoders: plain, Bahdanau (attend, then step) and Luong (step, then attend)."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.scores import ScoreName, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded, KeyValues, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.recurrent import BidirectionalStack, CellName, RecurrentStack, State
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.settings import Settings


class RecurrentSettings(Settings):
    """A recurrent encoder-decoder."""

    kind: Literal["rnn"] = "rnn"
    decoder: Literal["plain", "bahdanau", "luong"] = "bahdanau"
    """plain: one fixed context. bahdanau: attend with the state before, then step. luong: step, then attend."""
    cell: CellName = "gru"
    """gru or lstm."""
    embedding: int = Field(256, ge=1)
    """Size of token embeddings."""
    hidden: int = Field(512, ge=1)
    """Size of the decoder's state."""
    encoder_hidden: int | None = Field(None, ge=1)
    """Size of each direction of the encoder; by default its outputs have the size of the decoder's state."""
    layers: int = Field(1, ge=1)
    """Recurrent layers of encoder and decoder."""
    bidirectional: bool = True
    """Let the encoder read in both directions."""
    score: ScoreName = "additive"
    """How decoder states are matched with encoder states."""
    input_feeding: bool = False
    """luong only: feed the attention vector of the step before into the next (Luong et al. 2015, section 3.3)."""
    deep_output: bool = True
    """bahdanau only: predict from state, context and embedding through a maxout layer (Bahdanau 2015, A.2.2)."""
    tied: bool = False
    """Share the target embedding with the output layer, whose features are then as wide as an embedding."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropped from embeddings, between layers and before the output layer."""
    max_positions: int = Field(512, ge=1)
    """Longest source of the location score, in tokens."""

    @model_validator(mode="after")
    def _check(self) -> "RecurrentSettings":
        if self.input_feeding and self.decoder != "luong":
            raise ValueError("`model.input_feeding` belongs to `model.decoder: luong`; set one of the two")
        if self.bidirectional and self.encoder_hidden is None and self.hidden % 2:
            raise ValueError("`model.hidden` must be even for a bidirectional encoder, or set `model.encoder_hidden`")
        return self

    @property
    def direction(self) -> int:
        """Size of each direction of the encoder."""
        return self.encoder_hidden or (self.hidden // 2 if self.bidirectional else self.hidden)

    @property
    def encoded(self) -> int:
        """Size of an encoder output."""
        return self.direction * (2 if self.bidirectional else 1)


@dataclass(frozen=True)
class RecurrentSource:
    """What a recurrent decoder keeps of the source: prepared keys and values, or one fixed context."""

    mask: Bool[Tensor, "batch source"]
    memory: KeyValues | None = None
    context: Float[Tensor, "batch dim"] | None = None


@dataclass(frozen=True)
class RecurrentPast:
    """What a recurrent decoder remembers: its hidden vectors and, for input feeding, the last attention vector."""

    hidden: State
    fed: Float[Tensor, "batch dim"] | None = None


RecurrentState = DecoderState[RecurrentSource, RecurrentPast]


class RecurrentEncoder(nn.Module):
    """Embeds source tokens and runs a recurrent stack over them, in both directions by default."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.dropout = Dropout(settings.dropout)
        self.stack = BidirectionalStack(
            settings.cell,
            settings.embedding,
            settings.direction,
            settings.layers,
            dropout=settings.dropout,
            bidirectional=settings.bidirectional,
        )

    def forward(self, source: Padded) -> Encoded:
        """Return the last layer's state at every position, and the last state of every layer."""
        states, final = self.stack(self.dropout(self.embedding(source.ids)), source.mask.sum(1))
        return Encoded(self.dropout(states), source.mask, final)


class Bridge(nn.Module):
    """Makes the decoder's first state from the encoder's last: a copy from one direction of that size, else tanh(W h).

    Deviation from Bahdanau et al. 2015, appendix A.2.2: W reads both directions, not the backward one alone. An LSTM's cell
    state passes through its own W without tanh.
    """

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        copies = settings.encoded == settings.hidden and not settings.bidirectional
        parts = 1 if settings.cell == "gru" else 2
        self.maps = (
            nn.ModuleList()
            if copies
            else nn.ModuleList(nn.Linear(settings.encoded, settings.hidden) for _ in range(parts))
        )

    def forward(self, final: tuple[Float[Tensor, "batch layer encoded"], ...]) -> State:
        """Map each part of the encoder's last state."""
        if not self.maps:
            return final
        mapped = [layer(part) for layer, part in zip(self.maps, final, strict=True)]
        return (torch.tanh(mapped[0]), *mapped[1:])


class RecurrentDecoder(nn.Module):
    """What the three recurrent decoders share: embedding, stack, bridge and output layer."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int, features: int) -> None:
        """Make the shared parts: `extra` features enter the stack beside the embedding, `features` enter the output."""
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.stack = RecurrentStack(
            settings.cell, settings.embedding + extra, settings.hidden, settings.layers, settings.dropout
        )
        self.bridge = Bridge(settings)
        self.dropout = Dropout(settings.dropout)
        self.narrow = nn.Linear(features, settings.embedding) if settings.tied else nn.Identity()
        width = settings.embedding if settings.tied else features
        self.head = OutputLayer(width, vocabulary, self.embedding if settings.tied else None)

    def _attention(self, settings: RecurrentSettings) -> SingleHead:
        """Make the attention whose queries are decoder states and whose keys and values are encoder outputs."""
        score = build_score(
            settings.score,
            settings.hidden,
            settings.encoded,
            hidden=settings.hidden,
            positions=settings.max_positions,
        )
        return SingleHead(score)

    def _output(
        self, features: Float[Tensor, "batch target dim"], weights: Float[Tensor, "batch head target source"] | None
    ) -> DecoderOutput:
        """Bring features to the output layer's size, and give the weights their layer axis."""
        return DecoderOutput(
            self.narrow(self.dropout(features)), self.head, None if weights is None else weights[:, None]
        )


class PlainDecoder(RecurrentDecoder):
    """The baseline without attention: the encoder's last state enters every step (Cho et al. 2014, equation 2).

    Deviation: the output layer reads the state alone (as in d2l), not the context and the embedding again.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(settings, vocabulary, settings.encoded, settings.hidden)

    def start(self, encoded: Encoded) -> RecurrentState:
        """Keep the last layer's last state as the one context."""
        context = encoded.final[0][:, -1]
        return DecoderState(RecurrentSource(encoded.mask, context=context), RecurrentPast(self.bridge(encoded.final)))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Run the stack over embeddings with the context beside each; there are no weights to give."""
        embedded = self.dropout(self.embedding(tokens))
        assert state.source.context is not None
        context = state.source.context[:, None].expand(-1, tokens.shape[1], -1)
        states, hidden = self.stack(torch.cat([embedded, context], -1), state.past.hidden)
        return self._output(states, None), DecoderState(state.source, RecurrentPast(hidden))


class AttendingDecoder(RecurrentDecoder):
    """A recurrent decoder that attends to the encoder's states; the source is prepared once."""

    attention: SingleHead

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the encoder's states for the score and make the first state."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        return DecoderState(
            RecurrentSource(encoded.mask, memory), RecurrentPast(self.bridge(encoded.final), self._first_fed(encoded))
        )

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Return the attention vector before the first step, where it is fed."""
        return None

    def _attend(
        self, queries: Float[Tensor, "batch query dim"], source: RecurrentSource, need_weights: bool
    ) -> tuple[Float[Tensor, "batch query context"], Float[Tensor, "batch head query source"] | None]:
        """Read the source once per query."""
        assert source.memory is not None
        attended = self.attention(queries, source.memory, masks.to_source(source.mask), need_weights=need_weights)
        return attended.context, attended.weights


class BahdanauDecoder(AttendingDecoder):
    """RNNsearch: the last layer's state of the step before is the query; context and embedding enter the step.

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.2.2. Deviations: the GRU is torch's (see RecurrentStack); the
    deep output reads the new state s_i rather than s_{i-1}. With `deep_output: false` it reads the state alone, as d2l does.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        maxout = settings.hidden - settings.hidden % 2
        super().__init__(
            settings, vocabulary, settings.encoded, maxout // 2 if settings.deep_output else settings.hidden
        )
        self.attention = self._attention(settings)
        everything = settings.hidden + settings.encoded + settings.embedding
        self.deep = nn.Linear(everything, maxout) if settings.deep_output else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Attend, then step, position by position; everything that needs no loop is done for all positions at once."""
        embedded = self.dropout(self.embedding(tokens))
        projected = self.stack.project(embedded)
        hidden = state.past.hidden
        states: list[Tensor] = []
        contexts: list[Tensor] = []
        weights: list[Tensor | None] = []
        for entering in projected.unbind(1):
            context, weight = self._attend(hidden[0][:, -1:], state.source, need_weights)
            from_context = self.stack.project(context, embedded.shape[-1])
            output, hidden = self.stack.step(entering + from_context[:, 0], hidden)
            states.append(output)
            contexts.append(context)
            weights.append(weight)
        features = self._features(torch.stack(states, 1), torch.cat(contexts, 1), embedded)
        return self._output(features, _join(weights)), DecoderState(state.source, RecurrentPast(hidden))

    def _features(
        self,
        states: Float[Tensor, "batch target hidden"],
        contexts: Float[Tensor, "batch target context"],
        embedded: Float[Tensor, "batch target embedding"],
    ) -> Float[Tensor, "batch target features"]:
        """Take the larger of each pair of a linear map of state, context and embedding (maxout)."""
        if self.deep is None:
            return states
        pairs = self.deep(torch.cat([states, contexts, embedded], -1)).unflatten(-1, (-1, 2))
        return torch.maximum(pairs[..., 0], pairs[..., 1])


class LuongDecoder(AttendingDecoder):
    """Step, then attend with the new state, in Luong's four steps: score, weights, context, attention vector.

    Source: Luong et al. 2015, section 3.1; input feeding, section 3.3. Without input feeding no loop is needed.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(settings, vocabulary, settings.hidden if settings.input_feeding else 0, settings.hidden)
        self.attention = self._attention(settings)
        self.combine = nn.Linear(settings.encoded + settings.hidden, settings.hidden, bias=False)
        self.input_feeding = settings.input_feeding

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Start input feeding with zeros."""
        rows = encoded.states.shape[0]
        return encoded.states.new_zeros(rows, self.combine.out_features) if self.input_feeding else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Predict the token after each of `tokens`."""
        embedded = self.dropout(self.embedding(tokens))
        if not self.input_feeding:
            states, hidden = self.stack(embedded, state.past.hidden)
            vector, weight = self._attention_vector(states, state.source, need_weights)
            return self._output(vector, weight), DecoderState(state.source, RecurrentPast(hidden))
        fed, hidden = state.past.fed, state.past.hidden
        assert fed is not None
        vectors: list[Tensor] = []
        weights: list[Tensor | None] = []
        for entering in self.stack.project(embedded).unbind(1):
            from_fed = self.stack.project(fed[:, None], embedded.shape[-1])
            output, hidden = self.stack.step(entering + from_fed[:, 0], hidden)
            vector, weight = self._attention_vector(output[:, None], state.source, need_weights)
            fed = vector[:, 0]
            vectors.append(vector)
            weights.append(weight)
        output = torch.cat(vectors, 1)
        return self._output(output, _join(weights)), DecoderState(state.source, RecurrentPast(hidden, fed))

    def _attention_vector(
        self, states: Float[Tensor, "batch query hidden"], source: RecurrentSource, need_weights: bool
    ) -> tuple[Float[Tensor, "batch query hidden"], Float[Tensor, "batch head query source"] | None]:
        """Score, softmax and average (all in `attend`), then a_t = tanh(W_c [c_t; h_t])."""
        context, weights = self._attend(states, source, need_weights)
        return torch.tanh(self.combine(torch.cat([context, states], -1))), weights


def build_rnn(settings: RecurrentSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Make the recurrent encoder-decoder that `settings` describe."""
    decoders = {"plain": PlainDecoder, "bahdanau": BahdanauDecoder, "luong": LuongDecoder}
    encoder = RecurrentEncoder(settings, vocabularies.source)
    bounded = settings.score == "location" and settings.decoder != "plain"
    return Seq2Seq(
        encoder,
        decoders[settings.decoder](settings, vocabularies.target),
        source_positions=settings.max_positions if bounded else None,
    )


def _join(weights: list[Float[Tensor, "batch head query source"] | None]) -> Tensor | None:
    """Put the weights of single positions one after the other."""
    given = [weight for weight in weights if weight is not None]
    return torch.cat(given, 2) if given else None
