"""Convolutional sequence to sequence learning, ConvS2S (Gehring et al. 2017)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.scores import ScoreChoice, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import PAD, Attended, DecoderOutput, DecoderState, Encoded, KeyValues, Padded
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.convolution import Convolution, normalised
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.positions import LearnedPositions
from dragoman.models.capabilities import Capabilities
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings

ROOT_HALF = 0.5**0.5
"""Factor of every sum of two parts, so that the variance stays the same (section 3.4)."""

LayerSize = tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]


class ConvolutionalSettings(Settings):
    """Gated convolutions, with attention in every layer of the decoder."""

    kind: Literal["convs2s"] = "convs2s"
    embedding: int = Field(256, ge=1)
    """Size of token embeddings and of the attention queries and keys."""
    output_embedding: int = Field(256, ge=1)
    """Input size of the output layer."""
    encoder_layers: tuple[LayerSize, ...] = Field(((256, 3),) * 4, min_length=1)
    """Channels and kernel size of each encoder layer."""
    decoder_layers: tuple[LayerSize, ...] = Field(((256, 3),) * 3, min_length=1)
    """Channels and kernel size of each decoder layer."""
    score: ScoreChoice = "dot"
    """Attention score: how decoder states are compared with encoder states."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on embeddings, before each convolution and before the output layer."""
    max_positions: int = Field(1024, ge=1)
    """Maximum sentence length, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        bound = self.max_positions
        return Capabilities(source_heads=(len(self.decoder_layers), 1), source_positions=bound, target_positions=bound)


@dataclass(frozen=True)
class ConvolutionalSource:
    """The source as each decoder layer attends to it."""

    memories: tuple[KeyValues, ...]
    mask: Bool[Tensor, "batch source"]


@dataclass(frozen=True)
class ConvolutionalPast:
    """The last inputs of each layer's convolution, as many as the next position will see, and the number of tokens so far."""

    windows: tuple[Float[Tensor, "batch _ _"], ...]
    position: int = 0


ConvolutionalState = DecoderState[ConvolutionalSource, ConvolutionalPast]


class Embedding(nn.Module):
    """The sum of token and position embeddings, all initialised from N(0, 0.1^2) (sections 3.1 and 3.5)."""

    def __init__(self, settings: ConvolutionalSettings, vocabulary: int) -> None:
        super().__init__()
        self.tokens = TokenEmbedding(vocabulary, settings.embedding, scaled=False)
        self.positions = LearnedPositions(settings.embedding, settings.max_positions)
        self.dropout = Dropout(settings.dropout)
        for table in (self.tokens.weight, self.positions.table.weight):
            nn.init.normal_(table, std=0.1)
        self.tokens.weight.data[PAD] = 0

    def forward(self, ids: Int[Tensor, "batch time"], offset: int = 0) -> Float[Tensor, "batch time embedding"]:
        """Embed tokens at the positions offset, offset + 1, ..."""
        return self.dropout(self.positions(self.tokens(ids), offset))


class GatedConvolution(nn.Module):
    """v([A B]) = A * sigmoid(B), where [A B] is a convolution of the states, and its residual connection (section 3.2)."""

    def __init__(self, inputs: int, size: LayerSize, dropout: float) -> None:
        super().__init__()
        channels, width = size
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(inputs, 2 * channels, width)
        normalised(self.convolution.linear, gain=4.0, dropout=dropout)
        self.around = nn.Identity() if inputs == channels else normalised(nn.Linear(inputs, channels))

    def forward(self, states: Float[Tensor, "batch time inputs"]) -> Float[Tensor, "batch time channels"]:
        """Let each position see the positions around it, and apply the gate."""
        return F.glu(self.convolution(self.dropout(states)), -1)

    def causal(
        self, states: Float[Tensor, "batch time inputs"], past: Float[Tensor, "batch span inputs"]
    ) -> tuple[Float[Tensor, "batch time channels"], Float[Tensor, "batch span inputs"]]:
        """Let each position see itself and earlier ones, and apply the gate; return the new states and the new `past`."""
        convolved, past = self.convolution.causal(self.dropout(states), past)
        return F.glu(convolved, -1), past

    def add(
        self, states: Float[Tensor, "batch time inputs"], gated: Float[Tensor, "batch time channels"]
    ) -> Float[Tensor, "batch time channels"]:
        """Add the input of the layer to its output."""
        return (gated + self.around(states)) * ROOT_HALF


class ConvolutionalEncoder(nn.Module):
    """Gated convolutions over embeddings; a state is the concatenation of a key z_j and a value z_j + e_j (section 3.3).

    The gradient of z is divided by twice the number of attention layers that read it; section 3.4 says "by the number", the
    authors' code (fairseq, fconv.py) has the factor 2. The sum z_j + e_j is multiplied by sqrt(0.5), as in that code but not
    in equation 2. Padding is zeroed before every convolution, as if nothing followed the sentence.
    """

    layers: Iterable[GatedConvolution]

    def __init__(self, settings: ConvolutionalSettings, vocabulary: int) -> None:
        super().__init__()
        sizes = settings.encoder_layers
        self.readers = len(settings.decoder_layers)
        self.embedding = Embedding(settings, vocabulary)
        self.enter = normalised(nn.Linear(settings.embedding, sizes[0][0]), dropout=settings.dropout)
        self.layers = nn.ModuleList(  # type: ignore[assignment]
            GatedConvolution(inputs, size, settings.dropout)
            for (inputs, _), size in zip((sizes[0], *sizes), sizes, strict=False)
        )
        self.leave = normalised(nn.Linear(sizes[-1][0], settings.embedding))

    def forward(self, source: Padded) -> Encoded:
        """Return a key and a value for every source position."""
        embedded = self.embedding(source.ids)
        states, padding = self.enter(embedded), ~source.mask[:, :, None]
        for layer in self.layers:
            states = states.masked_fill(padding, 0.0)
            states = layer.add(states, layer(states))
        keys = scale_gradient(self.leave(states), 1 / (2 * self.readers))
        return Encoded(torch.cat([keys, (keys + embedded) * ROOT_HALF], -1), source.mask)


@dataclass(frozen=True)
class ConvolutionalLayerOutput:
    """What a decoder layer gives: its states, the inputs that the next positions will see, and what was read of the source."""

    states: Float[Tensor, "batch target channels"]
    window: Float[Tensor, "batch span inputs"]
    read: Attended


class ConvolutionalDecoderLayer(nn.Module):
    """A gated causal convolution and, from its result and the target's embedding g, attention to the source.

    Source: equations 1 and 2; the authors' code for what they leave open: both projections and their biases, and sqrt(0.5)
    at each sum. `score` replaces the dot product.
    """

    def __init__(self, settings: ConvolutionalSettings, inputs: int, size: LayerSize) -> None:
        super().__init__()
        embedding = settings.embedding
        self.gated = GatedConvolution(inputs, size, settings.dropout)
        self.query = normalised(nn.Linear(size[0], embedding))
        score = build_score(settings.score, embedding, embedding, hidden=embedding, positions=settings.max_positions)
        self.attention = SingleHead(score, embedding)
        self.context = normalised(nn.Linear(embedding, size[0]))

    def forward(
        self,
        states: Float[Tensor, "batch target inputs"],
        embedded: Float[Tensor, "batch target embedding"],
        past: Float[Tensor, "batch span inputs"],
        *,
        memory: KeyValues,
        mask: Bool[Tensor, "sentence 1 source"],
        need_weights: bool,
    ) -> ConvolutionalLayerOutput:
        """Convolve what stands so far, attend to the source, and add both to the states."""
        gated, past = self.gated.causal(states, past)
        queries = (self.query(gated) + embedded) * ROOT_HALF
        read = self.attention(queries, memory, mask, need_weights=need_weights)
        new = self.gated.add(states, (self.context(read.context) + gated) * ROOT_HALF)
        return ConvolutionalLayerOutput(new, past, read)


class ConvolutionalDecoder(nn.Module):
    """Gated causal convolutions, each followed by attention to the source, and the output layer."""

    layers: Iterable[ConvolutionalDecoderLayer]

    def __init__(self, settings: ConvolutionalSettings, vocabulary: int) -> None:
        super().__init__()
        sizes = settings.decoder_layers
        self.embedding = Embedding(settings, vocabulary)
        self.enter = normalised(nn.Linear(settings.embedding, sizes[0][0]), dropout=settings.dropout)
        self.layers = nn.ModuleList(  # type: ignore[assignment]
            ConvolutionalDecoderLayer(settings, inputs, size)
            for (inputs, _), size in zip((sizes[0], *sizes), sizes, strict=False)
        )
        self.leave = normalised(nn.Linear(sizes[-1][0], settings.output_embedding))
        self.dropout = Dropout(settings.dropout)
        self.head = normalised(OutputLayer(settings.output_embedding, vocabulary), dropout=settings.dropout)

    def start(self, encoded: Encoded) -> ConvolutionalState:
        """Prepare keys and values for every layer.

        A context, an average of S values, is multiplied by S sqrt(1/S) to keep their variance (section 3.4); here the values
        are multiplied instead, once.
        """
        keys, values = encoded.states.chunk(2, -1)
        values = values * encoded.mask.sum(1).sqrt().to(values.dtype)[:, None, None]
        memories = tuple(layer.attention.prepare(keys, values) for layer in self.layers)
        windows = tuple(layer.gated.convolution.empty_window(keys) for layer in self.layers)
        return DecoderState(ConvolutionalSource(memories, encoded.mask), ConvolutionalPast(windows))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: ConvolutionalState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, ConvolutionalState]:
        """Process `tokens` after those in `state`; predict the token after each."""
        source, past = state.source, state.past
        embedded = self.embedding(tokens, past.position)
        states, mask = self.enter(embedded), masks.to_source(source.mask)
        windows: list[Tensor] = []
        weights: list[Tensor] = []
        for layer, memory, window in zip(self.layers, source.memories, past.windows, strict=True):
            output = layer(states, embedded, window, memory=memory, mask=mask, need_weights=need_weights)
            states = output.states
            windows.append(output.window)
            weights.extend([] if output.read.weights is None else [output.read.weights])
        features = self.dropout(self.leave(states))
        predicted = DecoderOutput(features, self.head, torch.stack(weights, 1) if weights else None)
        return predicted, DecoderState(source, ConvolutionalPast(tuple(windows), past.position + tokens.shape[1]))


def scale_gradient(states: Float[Tensor, "*shape"], factor: float) -> Float[Tensor, "*shape"]:
    """Return `states` unchanged, bit for bit; their gradient is multiplied by `factor`.

    >>> states = torch.tensor([3.0], requires_grad=True)
    >>> scale_gradient(states, 0.25).backward()
    >>> states.grad
    tensor([0.2500])
    """
    return torch.lerp(states.detach(), states, factor)


def build_convolutional(settings: ConvolutionalSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the ConvS2S model that `settings` describe."""
    return Seq2Seq(
        ConvolutionalEncoder(settings, vocabularies.source),
        ConvolutionalDecoder(settings, vocabularies.target),
        source_positions=settings.max_positions,
        target_positions=settings.max_positions,
    )
