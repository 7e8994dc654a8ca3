"""Luong's decoder: step, then attend with the new state (Luong et al. 2015)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.interfaces import Attended, DecoderOutput, DecoderState, Encoded
from dragoman.layers.attentive import AttendAfter
from dragoman.layers.mixture import linear_of_parts
from dragoman.models.recurrent import AttendingDecoder, RecurrentPast, RecurrentState
from dragoman.models.rnn_settings import RecurrentSettings


class LuongDecoder(AttendingDecoder):
    """Step, then attend with the new state, in Luong's four steps: score, weights, context, attentional vector.

    Source: Luong et al. 2015, section 3.1; input feeding, section 3.3. Without input feeding no loop is needed.
    """

    def __init__(self, settings: RecurrentSettings, vocabulary: int, extra: int | None = None) -> None:
        fed = settings.hidden if settings.input_feeding else 0
        super().__init__(settings, vocabulary, fed if extra is None else extra, features=settings.hidden)
        self.combine = nn.Linear(settings.encoder_output_size + settings.hidden, settings.hidden, bias=False)
        self.input_feeding = settings.input_feeding

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"] | None:
        """Start input feeding with zeros."""
        return encoded.states.new_zeros(len(encoded.states), self.combine.out_features) if self.input_feeding else None

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Predict the token after each of `tokens`."""
        embedded = self.dropout(self.embedding(tokens))
        after = state.past.position + tokens.shape[1]
        if state.past.fed is None:
            states, hidden = self.stack(embedded, state.past.hidden)
            attended = self._attend(states, state, need_weights=need_weights or self.needs_weights)
            output = self._output(states, embedded, state.source, attended=attended, need_weights=need_weights)
            return output, DecoderState(state.source, RecurrentPast(hidden, position=after))
        order = AttendAfter(state.past.fed, _enter, self._feed, self.combine.weight)
        looped = self._loop(embedded, state, order, need_weights=need_weights)
        assert looped.fed is not None
        if looped.fused and not self.needs_weights:
            output = DecoderOutput(self.narrow(self.dropout(looped.fed)), self.head, looped.attention)
        else:  # recompute all attentional vectors in one product, whose gradient is one product too
            output = self._output(
                looped.states, embedded, state.source, attended=looped.attended, need_weights=need_weights
            )
        return output, DecoderState(state.source, RecurrentPast(looped.last, looped.fed[:, -1], position=after))

    def _attend(
        self, queries: Float[Tensor, "batch target hidden"], state: RecurrentState, *, need_weights: bool
    ) -> Attended:
        """Attend with the states of all positions at once."""
        mask, offset = masks.to_source(state.source.mask), state.past.position
        return self.attention(queries, state.source.memory, mask, offset=offset, need_weights=need_weights)

    def _feed(
        self, output: Float[Tensor, "batch hidden"], attended: Attended, index: int
    ) -> Float[Tensor, "batch hidden"]:
        """Return the attentional vector, which is fed into the next step."""
        return torch.tanh(linear_of_parts(self.combine, attended.context[:, 0], output))

    def _features(
        self,
        states: Float[Tensor, "*_ hidden"],
        contexts: Float[Tensor, "*_ context"],
        embedded: Float[Tensor, "*_ embedding"],
    ) -> Float[Tensor, "*_ features"]:
        """Return the attentional vector tanh(W_c [c_t; h_t])."""
        return torch.tanh(linear_of_parts(self.combine, contexts, states))


def _enter(fed: Float[Tensor, "batch dim"], index: int) -> Float[Tensor, "batch 1 dim"]:
    """Return the attentional vector unchanged, as the cell's input."""
    return fed[:, None]
