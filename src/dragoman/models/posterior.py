"""Posterior attention: attention weights are updated once the generated token is known."""

from functools import partial

from jaxtyping import Float, Int
from torch import Tensor

from dragoman.attention.attend import average
from dragoman.attention.sharing import for_each_hypothesis
from dragoman.interfaces import Attended, DecoderOutput, DecoderState, Encoded
from dragoman.layers.attentive import AttendAfter, AttendedSource
from dragoman.layers.mixture import MixtureHead, mixture_features
from dragoman.models.luong import LuongDecoder
from dragoman.models.recurrent import RecurrentPast, RecurrentState
from dragoman.models.rnn_settings import RecurrentSettings


class PosteriorDecoder(LuongDecoder):
    """Each source position predicts separately, and the generated token determines the posterior over positions.

    P(y_t) = sum_a P(a | s_t) P(y_t | s_t, x_a); the context fed into the next step is the average of the source under the
    posterior P(a | y_t), which is proportional to P(a | s_t) P(y_t | s_t, x_a). Source: Shankar and Sarawagi 2019, section
    3.1, with the prior uncoupled from the previous alignment. Deviations: the sum is over all positions, not the top few;
    predictions are made from tanh(W_c [x_a; s_t]). The weights returned are those of the prior.
    """

    head: MixtureHead

    def __init__(self, settings: RecurrentSettings, vocabulary: int) -> None:
        super().__init__(settings, vocabulary, settings.encoder_output_size)

    def _first_fed(self, encoded: Encoded) -> Float[Tensor, "batch dim"]:
        """Return predictions of positions whose weights are all 0, so that the first context fed is zero."""
        rows, length, _ = encoded.states.shape
        nothing = self.head.output.weight.new_zeros(rows, length, self.head.output.weight.shape[1])
        return mixture_features(nothing, nothing.new_zeros(rows, length))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Predict the token after each of `tokens`; `fed` holds the predictions whose posterior the next token determines."""
        embedded = self.dropout(self.embedding(tokens))
        assert state.past.fed is not None
        values = for_each_hypothesis(state.source.memory.values[:, 0], len(tokens))
        enter = partial(self._posterior_context, tokens=tokens, values=values)
        feed = partial(self._predictions, embedded=embedded, source=state.source)
        looped = self._loop(embedded, state, AttendAfter(state.past.fed, enter, feed), need_weights=need_weights)
        assert looped.fed is not None and looped.attended.weights is not None
        attention = looped.attended.weights[:, None] if need_weights else None
        past = RecurrentPast(looped.last, looped.fed[:, -1], position=state.past.position + tokens.shape[1])
        return DecoderOutput(looped.fed, self.head, attention), DecoderState(state.source, past)

    def _posterior_context(
        self,
        fed: Float[Tensor, "batch packed"],
        index: int,
        *,
        tokens: Int[Tensor, "batch target"],
        values: Float[Tensor, "batch source dim"],
    ) -> Float[Tensor, "batch 1 dim"]:
        """Return the average of the source under the posterior, given the generated token."""
        posterior = self.head.posterior(fed, tokens[:, index])
        return average(posterior[:, None].to(values.dtype), values)

    def _predictions(
        self,
        output: Float[Tensor, "batch hidden"],
        attended: Attended,
        index: int,
        *,
        embedded: Float[Tensor, "batch target embedding"],
        source: AttendedSource,
    ) -> Float[Tensor, "batch packed"]:
        """Return the features from which each source position predicts."""
        return self._mixture(output[:, None], embedded[:, index : index + 1], source, weights=attended.weights)[:, 0]
