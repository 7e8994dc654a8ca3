"""Settings of the three uses of the Transformer's blocks: encoder-decoder, encoder-only and decoder-only."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from dragoman.attention.scores import ScoreChoice
from dragoman.attention.settings import HardSettings, RelativeChoice, WeightsName, WindowSettings
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.positions import PositionsChoice
from dragoman.layers.residual import NormPlace
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class BlockSettings(Settings):
    """What every stack of the Transformer's blocks needs."""

    width: int = Field(512, ge=2)
    """Size of a position's state, d_model."""
    feed_forward: int = Field(2048, ge=1)
    """Inner size of the feed-forward network."""
    gated: bool = False
    """A gate (SwiGLU, Shazeer 2020) in the feed-forward network rather than ReLU; it has half as many weights more."""
    experts: ExpertSettings | None = None
    """Experts in place of every feed-forward network, each of the inner size `feed_forward`; by default one reads all tokens."""
    heads: int = Field(8, ge=1)
    """Attention heads."""
    norm: NormPlace = "pre"
    """Layer norm before each sub-layer (pre) or after each residual sum (post, as in the paper)."""
    positions: PositionsChoice = "sinusoidal"
    """How positions enter: sinusoidal (any length), learned (up to max_positions) or none."""
    relative: RelativeChoice = "none"
    """What heads that attend to their own side know of distance: none, shaw, t5, alibi or rotary."""
    self_score: ScoreChoice = "scaled_dot"
    """Score of the heads that attend to their own side."""
    self_weights: WeightsName = "softmax"
    """How scores become weights where heads attend to their own side: softmax, sparsemax or entmax15."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropped from embeddings and from each sub-layer's output."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropped from attention weights."""
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropped inside the feed-forward network."""
    max_positions: int = Field(512, ge=1)
    """Longest sentence of learned positions and of the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to start from; by default all weights are drawn at random."""

    @property
    def bound(self) -> int | None:
        """Most tokens that self-attention can take; None for no bound."""
        return self.max_positions if self.positions == "learned" or self.self_score == "location" else None

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        fused = self.self_score == "scaled_dot" and self.self_weights == "softmax"
        return Capabilities(
            drops_attention=True,
            one_program=True,
            data_dependent=() if self.experts is None else ("model.experts",),
            packs=fused and self.relative in ("none", "rotary") and self.attention_dropout == 0,
            source_positions=self.bound,
            target_positions=self.bound,
        )


class EncoderSettings(BlockSettings):
    """A stack that reads a sentence from both sides."""

    encoder_layers: int = Field(6, ge=1)
    """Layers of the encoder."""


class DecoderSettings(BlockSettings):
    """A stack that reads a sentence from left to right."""

    decoder_layers: int = Field(6, ge=1)
    """Layers of the decoder."""


class MaskedSettings(EncoderSettings):
    """An encoder alone, which learns to fill blanks; the output layer shares the embedding's matrix."""

    kind: Literal["masked_lm"] = "masked_lm"

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return replace(super().capabilities, purpose="fill")


class DecoderOnlySettings(DecoderSettings):
    """A decoder alone, which learns to continue text; the output layer shares the embedding's matrix."""

    kind: Literal["decoder_only"] = "decoder_only"

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return replace(super().capabilities, purpose="generate", packs=False, source_positions=None)


class TransformerSettings(EncoderSettings, DecoderSettings):
    """A Transformer encoder-decoder."""

    kind: Literal["transformer"] = "transformer"
    cross_score: ScoreChoice = "scaled_dot"
    """Score of the decoder's heads that attend to the source."""
    cross_weights: WeightsName = "softmax"
    """How scores become weights where heads attend to the source."""
    window: WindowSettings | None = None
    """Local attention to the source; by default all of it is seen."""
    hard: HardSettings | None = None
    """Hard attention to the source; by default an average is taken."""
    tied: Literal["all", "target", "none"] = "all"
    """Share one matrix among both embeddings and the output layer (all), or target embedding and output layer (target)."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        shared = super().capabilities
        plain = self.cross_weights == "softmax" and self.window is None and self.hard is None
        across = self.cross_score == "scaled_dot" and plain and self.attention_dropout == 0
        return replace(
            shared,
            source_heads=(self.decoder_layers, self.heads),
            data_dependent=(*shared.data_dependent, *(() if self.hard is None else ("model.hard",))),
            packs=shared.packs or across,
            source_positions=self.max_positions if self.cross_score == "location" else self.bound,
            window=self.window,
        )
