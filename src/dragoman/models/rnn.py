"""Recurrent encoder-decoders: plain, Bahdanau (attend, then step), Luong (step, then attend), posterior attention."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.attention.sharing import for_each_hypothesis
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded
from dragoman.layers.attentive import AttendBefore
from dragoman.layers.mixture import linear_of_parts
from dragoman.models.luong import LuongDecoder
from dragoman.models.posterior import PosteriorDecoder
from dragoman.models.recurrent import (
    AttendingDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentPast,
    RecurrentState,
)
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

PlainState = DecoderState[Float[Tensor, "batch dim"], RecurrentPast]
"""The source is one context, the same at every step."""


class PlainDecoder(RecurrentDecoder):
    """The baseline without attention: the encoder's final state is an input of every step (Cho et al. 2014, equation 2).

    Deviation: the output layer reads only the state (as in d2l), not also the context and the embedding.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(settings, vocabulary, settings.encoder_output_size, features=settings.hidden)

    def start(self, encoded: Encoded) -> PlainState:
        """Keep the last layer's final state as the fixed context."""
        return DecoderState(encoded.final[0][:, -1], RecurrentPast(self.bridge(encoded.final)))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: PlainState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, PlainState]:
        """Run the stack over embeddings concatenated with the context; there are no attention weights."""
        embedded = self.dropout(self.embedding(tokens))
        context = for_each_hypothesis(state.source, len(tokens))[:, None].expand(-1, tokens.shape[1], -1)
        states, hidden = self.stack(torch.cat([embedded, context], -1), state.past.hidden)
        output = DecoderOutput(self.narrow(self.dropout(states)), self.head)
        return output, DecoderState(state.source, RecurrentPast(hidden))


class BahdanauDecoder(AttendingDecoder):
    """RNNsearch: the last layer's previous state is the query; context and embedding are inputs of the step.

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.2.2. Deviations: the GRU is torch's (see RecurrentStack); the
    deep output reads the new state s_i rather than s_{i-1}. With `deep_output: false` it reads only the state, as in d2l.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        maxout = settings.hidden - settings.hidden % 2
        super().__init__(
            settings,
            vocabulary,
            settings.encoder_output_size,
            features=maxout // 2 if settings.deep_output else settings.hidden,
        )
        everything = settings.hidden + settings.encoder_output_size + settings.embedding
        self.deep = nn.Linear(everything, maxout) if settings.deep_output else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Attend, then step, position by position; everything else is computed for all positions at once."""
        embedded = self.dropout(self.embedding(tokens))
        looped = self._loop(embedded, state, AttendBefore(), need_weights=need_weights)
        output = self._output(
            looped.states, embedded, state.source, attended=looped.attended, need_weights=need_weights
        )
        past = RecurrentPast(looped.last, position=state.past.position + tokens.shape[1])
        return output, DecoderState(state.source, past)

    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Apply maxout, the larger of each pair, to a linear map of state, context and embedding."""
        if self.deep is None:
            return states
        pairs = linear_of_parts(self.deep, states, contexts, embedded).unflatten(-1, (-1, 2))
        return torch.maximum(pairs[..., 0], pairs[..., 1])


def build_rnn(settings: RecurrentSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the recurrent encoder-decoder that `settings` describe."""
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
