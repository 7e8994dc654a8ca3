"""GNMT, Google's deep recurrent system: many LSTM layers with residual connections, attention from the lowest."""

from typing import Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention.scores import ScoreChoice, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import PAD, DecoderOutput, DecoderState, Encoded, Padded
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.attentive import AttendBefore, AttendedSource, attend_and_step
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.recurrent import BidirectionalStack, RecurrentStack, join_layers, layer_state, zero_state
from dragoman.models.capabilities import Capabilities
from dragoman.models.recurrent import RecurrentPast, RecurrentState
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings

FIRST_RESIDUAL = 2
"""Layers are counted from 0 at the bottom: residual connections start with the third (Wu et al. 2016, figure 1)."""


class GnmtSettings(Settings):
    """Google's recurrent system of 2016: deep LSTM stacks with residual connections that attend from the lowest decoder layer."""

    kind: Literal["gnmt"] = "gnmt"
    encoder_layers: int = Field(8, ge=2, le=1000)
    """LSTM layers of the encoder; the lowest is bidirectional and counts as one."""
    decoder_layers: int = Field(8, ge=1, le=1000)
    """LSTM layers of the decoder."""
    hidden: int = Field(1024, ge=1)
    """Size of every LSTM layer (of each direction of the lowest) and of embeddings."""
    score: ScoreChoice = "additive"
    """Attention score: how the lowest decoder layer's state is compared with encoder states."""
    tied: bool = False
    """Tie the output layer to the target embedding."""
    initial_range: float | None = Field(0.04, gt=0)
    """Initial weights are uniform between minus and plus this; null: orthogonal and Xavier initialisation. The paper's 0.04 is
    for layers of 1024: through smaller ones hardly any signal passes (with 256 units, the first gradient of the source
    embeddings is 500 times smaller than with null), and they learn little but word frequencies; set null for them."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on the input of every layer and before the output layer."""
    max_positions: int = Field(512, ge=1)
    """Maximum source length for the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, stepwise=True, source_positions=bound)


class GnmtEncoder(nn.Module):
    """One LSTM layer in both directions, then LSTM layers from left to right, the third and later ones residual.

    Source: Wu et al. 2016, sections 3.1 (equation 6) and 3.2, figures 1 and 3. Padding is on the right, so layers that read
    from left to right need no mask. Deviations are listed at `build_gnmt`.
    """

    def __init__(self, settings: GnmtSettings, vocabulary: int) -> None:
        super().__init__()
        self.hidden = hidden = settings.hidden
        self.embedding = TokenEmbedding(vocabulary, hidden, scaled=settings.initial_range is None)
        self.dropout = Dropout(settings.dropout)
        self.bottom = BidirectionalStack("lstm", hidden, hidden, layers=1, dropout=0.0, bidirectional=True)
        self.layers = nn.ModuleList(
            RecurrentStack("lstm", 2 * hidden if layer == 1 else hidden, hidden, layers=1, dropout=0.0)
            for layer in range(1, settings.encoder_layers)
        )

    def forward(self, source: Padded) -> Encoded:
        """Return the top layer's output at every position."""
        states, _ = self.bottom(self.dropout(self.embedding(source.ids)), source.mask.sum(1))
        for number, layer in enumerate(self.layers, 1):
            above, _ = layer(self.dropout(states), zero_state(states, 1, self.hidden, self.hidden))
            states = above + states if number >= FIRST_RESIDUAL else above
        return Encoded(states, source.mask)


class GnmtDecoder(nn.Module):
    """LSTM layers that share one attention context, whose query is the lowest layer's previous output.

    At step i the query of the context a_i is y_{i-1}, the lowest layer's output; a_i is concatenated to the input of every
    layer. The third and later layers add their input from below, without the context, to their output (equation 6). Since
    higher layers do not contribute to the query, only the lowest needs a loop over positions. Source: Wu et al. 2016,
    section 3, equation 4, and figure 1. Deviations are listed at `build_gnmt`.
    """

    def __init__(self, settings: GnmtSettings, vocabulary: int) -> None:
        super().__init__()
        hidden = settings.hidden
        self.embedding = TokenEmbedding(vocabulary, hidden, scaled=settings.initial_range is None)
        self.dropout = Dropout(settings.dropout)
        score = build_score(settings.score, hidden, hidden, hidden=hidden, positions=settings.max_positions)
        self.attention = SingleHead(score, hidden)
        self.bottom = RecurrentStack("lstm", 2 * hidden, hidden, layers=1, dropout=0.0)
        self.layers = nn.ModuleList(
            RecurrentStack("lstm", 2 * hidden, hidden, layers=1, dropout=0.0) for _ in range(1, settings.decoder_layers)
        )
        self.head = OutputLayer(hidden, vocabulary, self.embedding if settings.tied else None)

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the encoder's states for the score; every layer starts from zeros."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        size = self.bottom.hidden
        hidden = zero_state(encoded.states, 1 + len(self.layers), size, size)
        return DecoderState(AttendedSource(encoded.mask, memory), RecurrentPast(hidden))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Run the lowest layer position by position, then each layer above it over all positions at once."""
        past = state.past
        looped = attend_and_step(
            self.bottom,
            self.attention,
            self.dropout(self.embedding(tokens)),
            source=state.source,
            state=layer_state(past.hidden, 0),
            order=AttendBefore(self.dropout),
            offset=past.position,
            need_weights=need_weights,
        )
        states, reached = looped.states, [looped.last]
        for number, layer in enumerate(self.layers, 1):
            entering = self.dropout(torch.cat([states, looped.attended.context], -1))
            above, after = layer(entering, layer_state(past.hidden, number))
            reached.append(after)
            states = above + states if number >= FIRST_RESIDUAL else above
        output = DecoderOutput(self.dropout(states), self.head, looped.attention)
        after = RecurrentPast(join_layers(reached), position=past.position + tokens.shape[1])
        return output, DecoderState(state.source, after)


def build_gnmt(settings: GnmtSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the system of Wu et al. 2016, sections 3 and 8.2.

    Deviations: the LSTM is torch's, which applies tanh to the memory before the output gate and has biases, neither of which
    equation 11 shows; memories, residual sums and logits are not clipped, which the paper does for the sake of integer
    arithmetic (section 6); the decoder's initial state is zero (the paper does not specify it); dropout follows Zaremba et
    al. 2014, as the paper says: on the inputs of layers and before the output layer. If `initial_range` is null, embeddings
    are initialised with unit variance (`TokenEmbedding`).
    """
    model = Seq2Seq(
        GnmtEncoder(settings, vocabularies.source),
        GnmtDecoder(settings, vocabularies.target),
        source_positions=settings.max_positions if settings.score == "location" else None,
    )
    if settings.initial_range is not None:
        _draw_evenly(model, settings.initial_range)
    return model


def _draw_evenly(model: Seq2Seq, bound: float) -> None:
    """Draw all weights and biases from U(-bound, bound); the padding vector and scalars are left alone."""
    for parameter in model.parameters():
        if parameter.dim() > 0:
            nn.init.uniform_(parameter, -bound, bound)
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            module.weight.data[PAD] = 0
