"""Deep-Att (Zhou et al. 2016): deep LSTM stacks with fast-forward connections and an encoder of two interleaved columns."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention.scores import ScoreChoice, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded, Padded
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.attentive import AttendBefore, AttendedSource, attend_and_step
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.recurrent import RecurrentStack, State, join_layers, layer_state, zero_state
from dragoman.models.capabilities import Capabilities
from dragoman.models.recurrent import RecurrentPast, RecurrentState
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings

GATES = 4
"""Gates of an LSTM; the pre-activations f are this many times as wide as h."""


class DeepAttSettings(Settings):
    """Deep-Att of Zhou et al. (2016): deep LSTM stacks with fast-forward connections."""

    kind: Literal["deep_att"] = "deep_att"
    embedding: int = Field(256, ge=1)
    """Size of token embeddings."""
    hidden: int = Field(512, ge=1)
    """Cells of each LSTM layer."""
    encoder_layers: int = Field(9, ge=1, le=1000)
    """Layers of each of the encoder's two columns."""
    decoder_layers: int = Field(7, ge=1, le=1000)
    """Layers of the decoder."""
    annotation: int | None = Field(None, ge=1)
    """Size of the projected encoder outputs that are attended to; by default a quarter of the columns' output."""
    score: ScoreChoice = "additive"
    """Attention score: how decoder states are compared with encoder outputs."""
    tied: bool = False
    """Tie the output layer to the target embedding; its input then has the embedding size."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings and on each layer's output."""
    max_positions: int = Field(512, ge=1)
    """Maximum source length for the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @property
    def top(self) -> int:
        """Return the size of [h, f] at the top of a column."""
        return (1 + GATES) * self.hidden

    @property
    def attended(self) -> int:
        """Return the size of the encoder outputs that are attended to."""
        return self.annotation or max(1, 2 * self.top // 4)

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, source_positions=bound)


class FastForwardStack(nn.Module):
    """Layers f^1 = W^1 x, f^k = W^k [Half(f^(k-1)), Dr(h^(k-1))], h^k = LSTM_r(f^k): the path of f has no nonlinearity.

    Zhou et al. 2016, section 3.1. LSTM_r adds U h_(t-1) to f, its gates' pre-activations; Half keeps the first half of f.
    Torch's fused LSTM computes f internally, so the half of f that the next layer reads is computed a second time, for all
    positions at once. Deviations: torch's LSTM has no peephole weights, but has two biases (that of f is part of f); with
    torch's order of gates, Half(f) are the input and forget gates.
    """

    def __init__(self, inputs: int, settings: DeepAttSettings, layers: int) -> None:
        super().__init__()
        self.halved = GATES * settings.hidden // 2
        sizes = [inputs, *[self.halved + settings.hidden] * (layers - 1)]
        self.layers = nn.ModuleList(
            RecurrentStack("lstm", size, settings.hidden, layers=1, dropout=0.0) for size in sizes
        )
        self.dropout = Dropout(settings.dropout)

    def layer(self, number: int) -> RecurrentStack:
        """Return a layer, counted from 0."""
        layer = self.layers[number]
        assert isinstance(layer, RecurrentStack)
        return layer

    def above(
        self,
        number: int,
        inputs: Float[Tensor, "batch time entering"],
        states: Float[Tensor, "batch time hidden"],
    ) -> Float[Tensor, "batch time leaving"]:
        """Return what a layer with these inputs and states h passes on: [Half(f), Dr(h)], or [Dr(h), f] at the top."""
        stack = self.layer(number).stack
        weight, bias = stack.weight_ih_l0, stack.bias_ih_l0
        assert isinstance(weight, Tensor) and isinstance(bias, Tensor)
        dropped = self.dropout(states)
        if number == len(self.layers) - 1:
            return torch.cat([dropped, F.linear(inputs, weight, bias)], -1)
        return torch.cat([F.linear(inputs, weight[: self.halved], bias[: self.halved]), dropped], -1)

    def zeros(self, like: Float[Tensor, "batch time _"]) -> State:
        """Return the initial state: h and c of every layer are zero."""
        size = self.layer(0).hidden
        return zero_state(like, len(self.layers), size, size)


class Column(FastForwardStack):
    """A stack whose layers alternate in reading direction; `backward` says that the first one reads backward.

    The interleaved bi-directional encoder of Zhou et al. 2016, section 3.1.
    """

    def __init__(self, settings: DeepAttSettings, *, backward: bool) -> None:
        super().__init__(settings.embedding, settings, settings.encoder_layers)
        self.backward = backward

    def forward(
        self, embedded: Float[Tensor, "batch time embedding"], mirror: Int[Tensor, " cells"]
    ) -> Float[Tensor, "batch time top"]:
        """Return [h, f] of the top layer; `mirror` is that of `mirrored`.

        Sentences are kept in the reading order of the current layer, with padding on the right, where a layer's states never
        reach a real position.
        """
        entering, reversed_now = embedded, False
        first = layer_state(self.zeros(embedded), 0)
        for number in range(len(self.layers)):
            reverse = self.backward ^ (number % 2 == 1)
            entering = _turned(entering, mirror) if reverse != reversed_now else entering
            reversed_now = reverse
            states, _ = self.layer(number)(entering, first)
            entering = self.above(number, entering, states)
        return _turned(entering, mirror) if reversed_now else entering


class DeepAttEncoder(nn.Module):
    """Two columns over the same embeddings, one starting forward, one backward; [h, f] of both are projected.

    e_t = [h, f] of the two top layers, and W_p e_t, a quarter as wide, is attended to (Zhou et al. 2016, section 3.1).
    Deviation: dropout also applies to embeddings, because nothing else on the path of f has any.
    """

    def __init__(self, settings: DeepAttSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.dropout = Dropout(settings.dropout)
        self.columns = nn.ModuleList(Column(settings, backward=backward) for backward in (False, True))
        self.project = nn.Linear(2 * settings.top, settings.attended, bias=False)

    def forward(self, source: Padded) -> Encoded:
        """Return the projected annotation of every position."""
        embedded = self.dropout(self.embedding(source.ids))
        mirror = mirrored(source.mask)
        tops = [column(embedded, mirror) for column in self.columns]
        return Encoded(self.project(torch.cat(tops, -1)), source.mask)


class DeepAttDecoder(nn.Module):
    """One column whose bottom layer attends with its previous state; the rest runs over all positions at once.

    c_t is the attention context for the query h^1_(t-1); f^1_t = W^1 [y_(t-1), c_t]; the output layer reads [h, f] of the
    top layer (Zhou et al. 2016, section 3.1). Deviations: where the paper's text could not be checked, the initial state is
    zero and the output layer reads all of f; dropout also applies to embeddings.
    """

    def __init__(self, settings: DeepAttSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.embedding)
        self.dropout = Dropout(settings.dropout)
        self.stack = FastForwardStack(settings.embedding + settings.attended, settings, settings.decoder_layers)
        score = build_score(
            settings.score, settings.hidden, settings.attended, hidden=settings.hidden, positions=settings.max_positions
        )
        self.attention = SingleHead(score, settings.hidden)
        self.narrow = nn.Linear(settings.top, settings.embedding) if settings.tied else nn.Identity()
        width = settings.embedding if settings.tied else settings.top
        self.head = OutputLayer(width, vocabulary, self.embedding if settings.tied else None)

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the annotations for the score."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        return DecoderState(AttendedSource(encoded.mask, memory), RecurrentPast(self.stack.zeros(encoded.states)))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Attend and step the bottom layer position by position, then run each layer above it over all positions."""
        embedded, past = self.dropout(self.embedding(tokens)), state.past
        looped = attend_and_step(
            self.stack.layer(0),
            self.attention,
            embedded,
            source=state.source,
            state=layer_state(past.hidden, 0),
            order=AttendBefore(),
            offset=past.position,
            need_weights=need_weights,
        )
        reached = [looped.last]
        entering = self.stack.above(0, torch.cat([embedded, looped.attended.context], -1), looped.states)
        for number in range(1, len(self.stack.layers)):
            states, hidden = self.stack.layer(number)(entering, layer_state(past.hidden, number))
            entering = self.stack.above(number, entering, states)
            reached.append(hidden)
        output = DecoderOutput(self.narrow(entering), self.head, looped.attention)
        after = RecurrentPast(join_layers(reached), position=past.position + tokens.shape[1])
        return output, DecoderState(state.source, after)


def build_deep_att(settings: DeepAttSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the Deep-Att model that `settings` describe.

    Embeddings are initialised with unit variance (`TokenEmbedding`).
    """
    return Seq2Seq(
        DeepAttEncoder(settings, vocabularies.source),
        DeepAttDecoder(settings, vocabularies.target),
        source_positions=settings.max_positions if settings.score == "location" else None,
    )


def mirrored(mask: Bool[Tensor, "batch time"]) -> Int[Tensor, " cells"]:
    """Return the index of each cell of a batch, counted row by row, when sentences are read backward.

    Padding stays where it is.

    >>> mirrored(torch.tensor([[True, True, True], [True, True, False]])).tolist()
    [2, 1, 0, 4, 3, 5]
    """
    places = torch.arange(mask.shape[1], device=mask.device)
    turned = torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)
    rows = torch.arange(mask.shape[0], device=mask.device)[:, None]
    return (rows * mask.shape[1] + turned).flatten()


def _turned(
    inputs: Float[Tensor, "batch time features"], mirror: Int[Tensor, " cells"]
) -> Float[Tensor, "batch time features"]:
    """Reverse sentences within their lengths."""
    return inputs.flatten(0, 1)[mirror].view(inputs.shape)
