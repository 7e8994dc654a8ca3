"""Recurrent encoder-decoders: plain, Bahdanau (attend, then step), Luong (step, then attend), posterior attention."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.attend import average
from dragoman.attention.lookup import LookupOptions
from dragoman.attention.scores import build_score
from dragoman.attention.sharing import for_each_hypothesis
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Attended, Choice, DecoderOutput, DecoderState, Encoded, KeyValues, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.mixture import MixtureHead, linear_of_parts, mixture_features
from dragoman.layers.recurrent import BidirectionalStack, RecurrentStack, State
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.native.recurrence import Order, Source


@dataclass(frozen=True)
class RecurrentSource:
    """What a recurrent decoder keeps of the source: prepared keys and values, or one fixed context."""

    mask: Bool[Tensor, "batch source"]
    memory: KeyValues | None = None
    context: Float[Tensor, "batch dim"] | None = None


@dataclass(frozen=True)
class RecurrentPast:
    """What a recurrent decoder remembers: its hidden vectors, what is fed into the next step, and how far it has come.

    Fed are the last attention vector (input feeding) or the last predictions of each source position (posterior attention).
    """

    hidden: State
    fed: Float[Tensor, "batch dim"] | None = None
    position: int = 0


RecurrentState = DecoderState[RecurrentSource, RecurrentPast]


class RecurrentEncoder(nn.Module):
    """Embeds source tokens and runs a recurrent stack over them, in both directions by default."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.dropout = Dropout(settings.outer)
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
    """What the recurrent decoders share: embedding, stack, bridge and output layer."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int, features: int) -> None:
        """Make the shared parts: `extra` features enter the stack beside the embedding, `features` enter the output."""
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.stack = RecurrentStack(
            settings.cell, settings.embedding + extra, settings.hidden, settings.layers, settings.dropout
        )
        self.bridge = Bridge(settings)
        self.dropout = Dropout(settings.outer)
        self.narrow = nn.Linear(features, settings.embedding) if settings.tied else nn.Identity()
        width = settings.embedding if settings.tied else features
        output = OutputLayer(width, vocabulary, self.embedding if settings.tied else None)
        self.head = MixtureHead(output) if settings.mixes else output


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
        context = for_each_hypothesis(state.source.context, len(tokens))[:, None].expand(-1, tokens.shape[1], -1)
        states, hidden = self.stack(torch.cat([embedded, context], -1), state.past.hidden)
        output = DecoderOutput(self.narrow(self.dropout(states)), self.head)
        return output, DecoderState(state.source, RecurrentPast(hidden))


class AttendingDecoder(RecurrentDecoder, ABC):
    """A recurrent decoder that attends to the encoder's states; the source is prepared once."""

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int, features: int) -> None:
        super().__init__(settings, vocabulary, extra, features)
        score = build_score(
            settings.score, settings.hidden, settings.encoded, hidden=settings.hidden, positions=settings.max_positions
        )
        kind = LookupOptions(settings.weights, settings.window, settings.hard)
        self.attention = SingleHead(score, settings.hidden, kind, dropout=settings.attention_dropout)

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the encoder's states for the score and make the first state."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        return DecoderState(
            RecurrentSource(encoded.mask, memory), RecurrentPast(self.bridge(encoded.final), self._first_fed(encoded))
        )

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Return what is fed into the first step beside the embedding and the state, if anything."""
        return None

    @abstractmethod
    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Return what predicts the next token from state, context and embedding, whose leading axes may broadcast."""

    def _attend(
        self, queries: Float[Tensor, "batch query dim"], source: RecurrentSource, first: int, need_weights: bool
    ) -> Attended:
        """Read the source once per query; a mixture always needs the weights."""
        assert source.memory is not None
        wanted = need_weights or isinstance(self.head, MixtureHead)
        mask = masks.to_source(source.mask)
        return self.attention(queries, source.memory, mask, first=first, need_weights=wanted)

    def _in_loop(self, embedded: Tensor, state: RecurrentState, order: Order, need_weights: bool) -> Source | None:
        """Return what a loop over all positions as one operation reads, or None where the plain loop has to run."""
        memory = state.source.memory
        plain = need_weights or isinstance(self.head, MixtureHead) or len(embedded) != len(state.source.mask)
        if plain or memory is None or not self.stack.loops(embedded):
            return None
        return self.attention.in_loop(memory, state.source.mask, order)

    def _mixture(
        self,
        states: Float[Tensor, "batch target hidden"],
        embedded: Float[Tensor, "batch target embedding"],
        source: RecurrentSource,
        weights: Float[Tensor, "batch 1 target source"] | None,
    ) -> Float[Tensor, "batch target packed"]:
        """Return the features of each source position as if it were the whole context, with their weights."""
        assert source.memory is not None and weights is not None
        values = for_each_hypothesis(source.memory.values, len(states))
        features = self._features(states[:, :, None], values, embedded[:, :, None])
        return mixture_features(self.narrow(self.dropout(features)), weights[:, 0])

    def _output(
        self,
        states: Float[Tensor, "batch target hidden"],
        embedded: Float[Tensor, "batch target embedding"],
        source: RecurrentSource,
        attended: Attended,
        *,
        need_weights: bool,
    ) -> DecoderOutput:
        """Predict from the average of the source, or from each of its positions where they are mixed."""
        if isinstance(self.head, MixtureHead):
            features = self._mixture(states, embedded, source, attended.weights)
        else:
            features = self.narrow(self.dropout(self._features(states, attended.context, embedded)))
        weights = attended.weights[:, None] if need_weights and attended.weights is not None else None
        return DecoderOutput(features, self.head, weights, choice=attended.choice)


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
        everything = settings.hidden + settings.encoded + settings.embedding
        self.deep = nn.Linear(everything, maxout) if settings.deep_output else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Attend, then step, position by position; everything that needs no loop is done for all positions at once."""
        embedded = self.dropout(self.embedding(tokens))
        hidden, first = state.past.hidden, state.past.position
        source = self._in_loop(embedded, state, "before", need_weights)
        if source is not None:
            looped, hidden = self.stack.loop(embedded, hidden, source)
            past, read = RecurrentPast(hidden, position=first + tokens.shape[1]), Attended(looped.contexts, None)
            output = self._output(looped.states, embedded, state.source, read, need_weights=False)
            return output, DecoderState(state.source, past)
        states: list[Tensor] = []
        attended: list[Attended] = []
        for position, entering in enumerate(self.stack.project(embedded).unbind(1), first):
            attended.append(self._attend(hidden[0][:, -1:], state.source, position, need_weights))
            from_context = self.stack.project(attended[-1].context, embedded.shape[-1])
            state_now, hidden = self.stack.step(entering + from_context[:, 0], hidden)
            states.append(state_now)
        output = self._output(
            torch.stack(states, 1), embedded, state.source, _joined(attended), need_weights=need_weights
        )
        return output, DecoderState(state.source, RecurrentPast(hidden, position=first + len(states)))

    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Take the larger of each pair of a linear map of state, context and embedding (maxout)."""
        if self.deep is None:
            return states
        pairs = linear_of_parts(self.deep, states, contexts, embedded).unflatten(-1, (-1, 2))
        return torch.maximum(pairs[..., 0], pairs[..., 1])


class LuongDecoder(AttendingDecoder):
    """Step, then attend with the new state, in Luong's four steps: score, weights, context, attention vector.

    Source: Luong et al. 2015, section 3.1; input feeding, section 3.3. Without input feeding no loop is needed.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int | None = None) -> None:
        fed = settings.hidden if settings.input_feeding else 0
        super().__init__(settings, vocabulary, fed if extra is None else extra, settings.hidden)
        self.combine = nn.Linear(settings.encoded + settings.hidden, settings.hidden, bias=False)
        self.input_feeding = settings.input_feeding

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Start input feeding with zeros."""
        return encoded.states.new_zeros(len(encoded.states), self.combine.out_features) if self.input_feeding else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Predict the token after each of `tokens`."""
        embedded = self.dropout(self.embedding(tokens))
        first, after = state.past.position, state.past.position + tokens.shape[1]
        if state.past.fed is None:
            states, hidden = self.stack(embedded, state.past.hidden)
            attended = self._attend(states, state.source, first, need_weights)
            output = self._output(states, embedded, state.source, attended, need_weights=need_weights)
            return output, DecoderState(state.source, RecurrentPast(hidden, position=after))
        fed, hidden = state.past.fed, state.past.hidden
        source = self._in_loop(embedded, state, "after", need_weights)
        if source is not None:
            looped, hidden = self.stack.loop(embedded, hidden, replace(source, combine=self.combine.weight, fed=fed))
            output = DecoderOutput(self.narrow(self.dropout(looped.fed)), self.head)
            return output, DecoderState(state.source, RecurrentPast(hidden, looped.fed[:, -1], position=after))
        steps: list[Tensor] = []
        read: list[Attended] = []
        for position, entering in enumerate(self.stack.project(embedded).unbind(1), first):
            from_fed = self.stack.project(fed[:, None], embedded.shape[-1])
            state_now, hidden = self.stack.step(entering + from_fed[:, 0], hidden)
            steps.append(state_now)
            read.append(self._attend(state_now[:, None], state.source, position, need_weights))
            fed = self._features(state_now, read[-1].context[:, 0], embedded[:, position - first])
        whole = torch.stack(steps, 1)
        output = self._output(whole, embedded, state.source, _joined(read), need_weights=need_weights)
        return output, DecoderState(state.source, RecurrentPast(hidden, fed, position=after))

    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Return the attention vector a_t = tanh(W_c [c_t; h_t]); score, weights and context are made in `_attend`."""
        return torch.tanh(linear_of_parts(self.combine, contexts, states))


class PosteriorDecoder(LuongDecoder):
    """Posterior attention: each position predicts by itself, and the token written tells which of them it came from.

    P(y_t) = sum_a P(a | s_t) P(y_t | s_t, x_a); the context fed into the next step is the average of the source under the
    posterior P(a | y_t), which is proportional to P(a | s_t) P(y_t | s_t, x_a). Source: Shankar and Sarawagi 2019, section
    3.1, with the prior uncoupled from the alignment before. Deviations: the sum is over all positions, not the best few; an
    output predicts from tanh(W_c [x_a; s_t]). The weights shown are those of the prior.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(settings, vocabulary, settings.encoded)

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"]:
        """Return predictions of positions that all have no weight, so that the first context fed is zero."""
        assert isinstance(self.head, MixtureHead)
        rows, length, _ = encoded.states.shape
        nothing = encoded.states.new_zeros(rows, length, self.head.output.weight.shape[1], dtype=torch.float32)
        return mixture_features(nothing, nothing.new_zeros(rows, length))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Predict the token after each of `tokens`; `fed` holds the predictions that the next of them is to judge."""
        embedded = self.dropout(self.embedding(tokens))
        fed, hidden, first = state.past.fed, state.past.hidden, state.past.position
        assert fed is not None and state.source.memory is not None and isinstance(self.head, MixtureHead)
        values = for_each_hypothesis(state.source.memory.values[:, 0], len(tokens))
        predictions: list[Tensor] = []
        read: list[Attended] = []
        for position, entering in enumerate(self.stack.project(embedded).unbind(1), first):
            at = position - first
            posterior = self.head.posterior(fed, tokens[:, at])
            context = average(posterior[:, None].to(values.dtype), values)
            from_context = self.stack.project(context, embedded.shape[-1])
            state_now, hidden = self.stack.step(entering + from_context[:, 0], hidden)
            read.append(self._attend(state_now[:, None], state.source, position, True))
            mixed = self._mixture(state_now[:, None], embedded[:, at : at + 1], state.source, read[-1].weights)
            predictions.append(mixed)
            fed = mixed[:, 0]
        weights = _joined(read).weights
        attention = weights[:, None] if need_weights and weights is not None else None
        output = DecoderOutput(torch.cat(predictions, 1), self.head, attention)
        return output, DecoderState(state.source, RecurrentPast(hidden, fed, position=first + len(predictions)))


def build_rnn(settings: RecurrentSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Make the recurrent encoder-decoder that `settings` describe."""
    decoders: dict[str, Callable[[RecurrentSettings, int], RecurrentDecoder]] = {
        "plain": PlainDecoder,
        "bahdanau": BahdanauDecoder,
        "luong": LuongDecoder,
        "posterior": PosteriorDecoder,
    }
    bounded = settings.score == "location" and settings.decoder != "plain"
    return Seq2Seq(
        RecurrentEncoder(settings, vocabularies.source),
        decoders[settings.decoder](settings, vocabularies.target),
        source_positions=settings.max_positions if bounded else None,
        hard=settings.hard,
    )


def _joined(attended: list[Attended]) -> Attended:
    """Put what was read at single positions one after the other."""
    weights = [one.weights for one in attended if one.weights is not None]
    choices = [one.choice for one in attended if one.choice is not None]
    return Attended(
        torch.cat([one.context for one in attended], 1),
        torch.cat(weights, 2) if weights else None,
        Choice(torch.cat([c.log_prob for c in choices], 1), torch.cat([c.entropy for c in choices], 1))
        if choices
        else None,
    )
