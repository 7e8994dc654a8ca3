"""The Transformer (Vaswani et al. 2017), with any score in its heads."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.multi_head import MultiHead
from dragoman.attention.scores import ScoreName
from dragoman.errors import SettingsError
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded, KeyValues, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.feed_forward import FeedForward
from dragoman.layers.positions import PositionsName, build_positions
from dragoman.layers.residual import NormPlace, Residual
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.settings import Settings


class TransformerSettings(Settings):
    """A Transformer encoder-decoder."""

    kind: Literal["transformer"] = "transformer"
    encoder_layers: int = Field(6, ge=1)
    """Layers of the encoder."""
    decoder_layers: int = Field(6, ge=1)
    """Layers of the decoder."""
    width: int = Field(512, ge=2)
    """Size of a position's state, d_model."""
    feed_forward: int = Field(2048, ge=1)
    """Inner size of the feed-forward network."""
    heads: int = Field(8, ge=1)
    """Attention heads."""
    norm: NormPlace = "pre"
    """Layer norm before each sub-layer (pre) or after each residual sum (post, as in the paper)."""
    positions: PositionsName = "sinusoidal"
    """How positions enter: sinusoidal (any length) or learned (up to max_positions)."""
    self_score: ScoreName = "scaled_dot"
    """Score of the heads that attend to their own side."""
    cross_score: ScoreName = "scaled_dot"
    """Score of the decoder's heads that attend to the source."""
    tied: Literal["all", "target", "none"] = "all"
    """Share one matrix among both embeddings and the output layer (all), or target embedding and output layer (target)."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropped from embeddings and from each sub-layer's output."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropped from attention weights."""
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropped inside the feed-forward network."""
    max_positions: int = Field(512, ge=1)
    """Longest sentence of learned positions and of the location score, in tokens."""


@dataclass(frozen=True)
class TransformerSource:
    """The source as each decoder layer looks it up."""

    memories: tuple[KeyValues, ...]
    mask: Bool[Tensor, "batch source"]


@dataclass(frozen=True)
class TransformerPast:
    """Keys and values of the target positions so far, one set per layer; empty before the first."""

    memories: tuple[KeyValues, ...]


@dataclass(frozen=True)
class LayerStep:
    """What one decoder layer gives back."""

    states: Float[Tensor, "batch target width"]
    past: KeyValues
    weights: Float[Tensor, "batch head target source"] | None


TransformerState = DecoderState[TransformerSource, TransformerPast]


def _attention(settings: TransformerSettings, score: ScoreName) -> MultiHead:
    """Make one multi-head attention."""
    return MultiHead(
        settings.width,
        settings.heads,
        score=score,
        positions=settings.max_positions,
        dropout=settings.attention_dropout,
    )


def _residual(settings: TransformerSettings) -> Residual:
    """Make one residual connection with its norm."""
    return Residual(settings.width, settings.norm, settings.dropout)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with residual and norm (section 3.1)."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.attention = _attention(settings, settings.self_score)
        self.feed_forward = FeedForward(settings.width, settings.feed_forward, settings.feed_forward_dropout)
        self.after_attention = _residual(settings)
        self.after_feed_forward = _residual(settings)

    def forward(
        self, states: Float[Tensor, "batch source width"], mask: Bool[Tensor, "batch 1 source"]
    ) -> Float[Tensor, "batch source width"]:
        """Let every position read every real position, then transform each."""
        states = self.after_attention(states, lambda x: self.attention(x, self.attention.prepare(x, x), mask).context)
        return self.after_feed_forward(states, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source and feed-forward, each with residual and norm (section 3.1)."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.self_attention = _attention(settings, settings.self_score)
        self.cross_attention = _attention(settings, settings.cross_score)
        self.feed_forward = FeedForward(settings.width, settings.feed_forward, settings.feed_forward_dropout)
        self.after_self = _residual(settings)
        self.after_cross = _residual(settings)
        self.after_feed_forward = _residual(settings)

    def forward(
        self,
        states: Float[Tensor, "batch target width"],
        past: KeyValues | None,
        memory: KeyValues,
        mask: Bool[Tensor, "batch 1 source"],
        *,
        need_weights: bool,
    ) -> LayerStep:
        """Read the target so far, then the source, then transform each position."""
        grown: list[KeyValues] = []
        weights: list[Tensor | None] = []

        def read_target(x: Tensor) -> Tensor:
            new = self.self_attention.prepare(x, x)
            grown.append(new if past is None else past.extend(new))
            seen = grown[0].values.shape[2]
            may_see = None if x.shape[1] == 1 else masks.causal(x.shape[1], seen, x.device)
            return self.self_attention(x, grown[0], may_see).context

        def read_source(x: Tensor) -> Tensor:
            attended = self.cross_attention(x, memory, mask, need_weights=need_weights)
            weights.append(attended.weights)
            return attended.context

        states = self.after_self(states, read_target)
        states = self.after_cross(states, read_source)
        states = self.after_feed_forward(states, self.feed_forward)
        return LayerStep(states, grown[0], weights[0])


class TransformerEncoder(nn.Module):
    """Embedding, positions and layers; pre-norm ends with one more layer norm."""

    def __init__(self, settings: TransformerSettings, embedding: TokenEmbedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = build_positions(settings.positions, settings.width, settings.max_positions)
        self.dropout = Dropout(settings.dropout)
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.norm = nn.LayerNorm(settings.width) if settings.norm == "pre" else nn.Identity()

    def forward(self, source: Padded) -> Encoded:
        """Return one state per source position."""
        mask = masks.to_source(source.mask)
        states = self.dropout(self.positions(self.embedding(source.ids)))
        for layer in self.layers:
            states = layer(states, mask)
        return Encoded(self.norm(states), source.mask)


class TransformerDecoder(nn.Module):
    """Embedding, positions, layers and output layer."""

    def __init__(self, settings: TransformerSettings, embedding: TokenEmbedding, vocabulary: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = build_positions(settings.positions, settings.width, settings.max_positions)
        self.dropout = Dropout(settings.dropout)
        self.layers = nn.ModuleList(DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.norm = nn.LayerNorm(settings.width) if settings.norm == "pre" else nn.Identity()
        tied = None if settings.tied == "none" else embedding
        self.head = OutputLayer(settings.width, vocabulary, tied, bias=False)

    def start(self, encoded: Encoded) -> TransformerState:
        """Project the source's keys and values for every layer."""
        memories = tuple(
            layer.cross_attention.prepare(encoded.states, encoded.states)  # type: ignore[operator, union-attr]
            for layer in self.layers
        )
        return DecoderState(TransformerSource(memories, encoded.mask), TransformerPast(()))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: TransformerState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, TransformerState]:
        """Read `tokens` after those that `state` has seen; predict the token after each."""
        pasts = state.past.memories
        seen = pasts[0].values.shape[2] if pasts else 0
        mask = masks.to_source(state.source.mask)
        states = self.dropout(self.positions(self.embedding(tokens), seen))
        grown: list[KeyValues] = []
        weights: list[Tensor] = []
        for index, layer in enumerate(self.layers):
            past = pasts[index] if pasts else None
            step: LayerStep = layer(states, past, state.source.memories[index], mask, need_weights=need_weights)
            states = step.states
            grown.append(step.past)
            if step.weights is not None:
                weights.append(step.weights)
        attention = torch.stack(weights, 1) if weights else None
        output = DecoderOutput(self.norm(states), self.head, attention)
        return output, DecoderState(state.source, TransformerPast(tuple(grown)))


def build_transformer(settings: TransformerSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Make the Transformer that `settings` describe. SettingsError where tying does not fit the vocabularies."""
    if settings.tied == "all" and not vocabularies.shared:
        raise SettingsError(
            "`model.tied: all` needs one vocabulary for both languages; set `text.joint: true`, or `model.tied: target`"
        )
    target = TokenEmbedding(vocabularies.target, settings.width, scaled=True)
    tied = settings.tied == "all"
    source = target if tied else TokenEmbedding(vocabularies.source, settings.width, scaled=True)
    encoder = TransformerEncoder(settings, source)
    bounded = settings.positions == "learned" or settings.self_score == "location"
    return Seq2Seq(
        encoder,
        TransformerDecoder(settings, target, vocabularies.target),
        source_positions=settings.max_positions if bounded or settings.cross_score == "location" else None,
        target_positions=settings.max_positions if bounded else None,
    )
