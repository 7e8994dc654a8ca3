"""ByteNet: a dilated convolutional decoder stacked on a dilated convolutional encoder (Kalchbrenner et al. 2016)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention.sharing import for_each_hypothesis
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded, Padded
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.convolution import Convolution
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.models.capabilities import Capabilities
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class ByteNetSettings(Settings):
    """A decoder stacked on an encoder, both of dilated convolutions, with no attention."""

    kind: Literal["bytenet"] = "bytenet"
    channels: int = Field(128, ge=1)
    """Channels inside each block; between blocks there are twice as many."""
    sets: int = Field(2, ge=1, le=1000)
    """How many times encoder and decoder each repeat `dilations`."""
    dilations: tuple[Annotated[int, Field(ge=1)], ...] = Field((1, 2, 4, 8, 16), min_length=1)
    """Dilation of each block of a set."""
    width: int = Field(3, ge=1)
    """Kernel size of the dilated convolutions."""
    stretch: float = Field(1.2, ge=1)
    """The encoder's output is this many times as long as the source, to make room for longer targets (a in the paper)."""
    extra: int = Field(0, ge=0)
    """Positions added to that length (b in the paper)."""
    join: Literal["sum", "concat"] = "sum"
    """How the encoder's output is combined with the token embeddings: added or concatenated."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on embeddings and on each block's output."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return Capabilities()


@dataclass(frozen=True)
class ByteNetPast:
    """The last inputs of each dilated convolution, as many as the next position will see, and the number of tokens so far."""

    windows: tuple[Float[Tensor, "batch _ _"], ...]
    position: int = 0


ByteNetState = DecoderState[Float[Tensor, "batch unfolded wide"], ByteNetPast]


class ByteNetBlock(nn.Module):
    """x + W_3 r(n(C r(n(W_1 r(n(x)))))), n a layer norm, r = ReLU, C the dilated convolution (figure 3, left).

    W_1 goes from 2d channels to d, W_3 back. Deviation: dropout on the residual branch.
    """

    def __init__(self, settings: ByteNetSettings, dilation: int) -> None:
        super().__init__()
        channels = settings.channels
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (2 * channels, channels, channels))
        self.narrow = nn.Linear(2 * channels, channels)
        self.convolution = Convolution(channels, channels, settings.width, dilation=dilation)
        self.widen = nn.Linear(channels, 2 * channels)
        self.dropout = Dropout(settings.dropout)

    def forward(
        self, states: Float[Tensor, "batch time wide"], real: Bool[Tensor, "batch time 1"]
    ) -> Float[Tensor, "batch time wide"]:
        """Let each position see the real positions around it."""
        return self._leave(states, self.convolution(self._enter(states).masked_fill(~real, 0.0)))

    def causal(
        self, states: Float[Tensor, "batch time wide"], past: Float[Tensor, "batch span channels"]
    ) -> tuple[Float[Tensor, "batch time wide"], Float[Tensor, "batch span channels"]]:
        """Let each position see itself and earlier ones; return the new states and the new `past`."""
        convolved, past = self.convolution.causal(self._enter(states), past)
        return self._leave(states, convolved), past

    def _enter(self, states: Float[Tensor, "batch time wide"]) -> Float[Tensor, "batch time channels"]:
        """Return the input of the convolution."""
        return F.relu(self.norms[1](self.narrow(F.relu(self.norms[0](states)))))

    def _leave(
        self, states: Float[Tensor, "batch time wide"], convolved: Float[Tensor, "batch time channels"]
    ) -> Float[Tensor, "batch time wide"]:
        """Project the output of the convolution and add it to the states."""
        return states + self.dropout(self.widen(F.relu(self.norms[2](convolved))))


def _blocks(settings: ByteNetSettings) -> nn.ModuleList:
    """Build the blocks of one side."""
    return nn.ModuleList(ByteNetBlock(settings, dilation) for dilation in settings.dilations * settings.sets)


class ByteNetEncoder(nn.Module):
    """Dilated convolutions over the source, continued to the length |t| = stretch |s| + extra (section 3.2, equation 2).

    The length is rounded up. Deviations: beyond its end the source is extended with zeros, not with a special character; the
    paper's rounding of lengths to multiples of 50, which is batch padding, is not part of the model here.
    """

    blocks: Iterable[ByteNetBlock]

    def __init__(self, settings: ByteNetSettings, vocabulary: int) -> None:
        super().__init__()
        self.stretch = settings.stretch
        self.extra = settings.extra
        self.embedding = TokenEmbedding(vocabulary, 2 * settings.channels)
        self.dropout = Dropout(settings.dropout)
        self.blocks = _blocks(settings)  # type: ignore[assignment]

    def forward(self, source: Padded) -> Encoded:
        """Return one column per position of the unfolded length, zeros beyond the unfolded length of a sentence."""
        lengths = unfolded_lengths(source.mask.sum(1), self.stretch, self.extra)
        longest = int(lengths.max())
        mask = torch.arange(longest, device=lengths.device) < lengths[:, None]
        embedded = self.embedding(source.ids).masked_fill(~source.mask[:, :, None], 0.0)
        states = self.dropout(F.pad(embedded, (0, 0, 0, longest - embedded.shape[1])))
        real = mask[:, :, None]
        for block in self.blocks:
            states = block(states, real)
        return Encoded(states.masked_fill(~real, 0.0), mask)


class ByteNetDecoder(nn.Module):
    """Masked dilated convolutions over the target's embeddings, each joined with the encoder's column at its position.

    Beyond the encoder's columns there are zeros, and decoding continues until EOS (section 3.2). The paper does not say how
    the two are joined: here they are added, or concatenated and passed through a 1x1 convolution. The blocks are followed by
    a layer norm, a ReLU, a 1x1 convolution, a ReLU, and the output layer.
    """

    blocks: Iterable[ByteNetBlock]

    def __init__(self, settings: ByteNetSettings, vocabulary: int) -> None:
        super().__init__()
        wide = 2 * settings.channels
        self.embedding = TokenEmbedding(vocabulary, wide)
        self.dropout = Dropout(settings.dropout)
        self.join = nn.Linear(2 * wide, wide) if settings.join == "concat" else None
        self.blocks = _blocks(settings)  # type: ignore[assignment]
        self.norm = nn.LayerNorm(wide)
        self.leave = nn.Linear(wide, wide)
        self.head = OutputLayer(wide, vocabulary)

    def start(self, encoded: Encoded) -> ByteNetState:
        """Keep the encoder's columns and start with an empty past."""
        windows = tuple(block.convolution.empty_window(encoded.states) for block in self.blocks)
        return DecoderState(encoded.states, ByteNetPast(windows))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: ByteNetState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, ByteNetState]:
        """Process `tokens` after those in `state`; there are no attention weights."""
        first, after = state.past.position, state.past.position + tokens.shape[1]
        columns = for_each_hypothesis(state.source[:, first:after], len(tokens))
        columns = F.pad(columns, (0, 0, 0, tokens.shape[1] - columns.shape[1]))
        embedded = self.dropout(self.embedding(tokens))
        states = embedded + columns if self.join is None else self.join(torch.cat([embedded, columns], -1))
        windows: list[Tensor] = []
        for block, past in zip(self.blocks, state.past.windows, strict=True):
            states, window = block.causal(states, past)
            windows.append(window)
        features = F.relu(self.leave(F.relu(self.norm(states))))
        return DecoderOutput(features, self.head), DecoderState(state.source, ByteNetPast(tuple(windows), after))


def unfolded_lengths(lengths: Int[Tensor, " batch"], stretch: float, extra: int) -> Int[Tensor, " batch"]:
    """Return stretch * length + extra, rounded up.

    >>> unfolded_lengths(torch.tensor([5, 6]), 1.2, 0).tolist()
    [6, 8]
    """
    return (lengths.double() * stretch + extra - 1e-6).ceil().long()


def build_bytenet(settings: ByteNetSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the ByteNet that `settings` describe."""
    return Seq2Seq(ByteNetEncoder(settings, vocabularies.source), ByteNetDecoder(settings, vocabularies.target))
