"""Settings of the three uses of the Transformer's blocks: encoder-decoder, encoder-only and decoder-only."""

from dataclasses import replace
from typing import Literal

from pydantic import Field, model_validator

from dragoman.attention.scores import PRODUCTS, ScoreChoice
from dragoman.attention.settings import HardSettings, RelativeChoice, WeightsName, WindowSettings
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.feed_forward import ActivationName
from dragoman.layers.lexical_settings import NEEDS_TIED
from dragoman.layers.positions import BOUNDED, PositionsChoice
from dragoman.layers.residual import NormKind, NormPlace
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class BlockSettings(Settings):
    """Settings of every stack of the Transformer's blocks."""

    width: int = Field(512, ge=2)
    """Size of hidden states, d_model."""
    feed_forward: int = Field(2048, ge=1)
    """Inner size of the feed-forward network."""
    gated: bool = False
    """Use a gated feed-forward network (Shazeer 2020), by default SwiGLU, which has half as many weights again."""
    activation: ActivationName | None = None
    """Activation in the feed-forward network: relu, swish, gelu, or gelu_tanh, which approximates it; by default swish if
    `gated`, otherwise relu."""
    experts: ExpertSettings | None = None
    """Replace every feed-forward network by a mixture of experts, each of inner size `feed_forward`."""
    heads: int = Field(8, ge=1)
    """Attention heads."""
    head_size: int | None = Field(None, ge=1)
    """Size of each head; by default `width` divided by `heads`."""
    biases: bool = True
    """Biases in the linear layers of attention and feed-forward networks."""
    norm: NormPlace = "pre"
    """Layer normalisation before each sub-layer (pre) or after each residual sum (post, as in the paper)."""
    norm_kind: NormKind = "layer"
    """layer: layer normalisation. rms: division by the root mean square, without mean and bias (Zhang and Sennrich 2019), as
    in T5."""
    norm_epsilon: float | None = Field(None, gt=0)
    """What norms add to the variance, or to the mean square, before its square root; by default 1e-5, and 1e-6 for rms."""
    embedding_norm: bool = False
    """Normalise embeddings too, after positions have been added, as in BART."""
    positions: PositionsChoice = "sinusoidal"
    """Position embeddings: sinusoidal (any length), learned (up to max_positions) or none. For weights of other toolkits also
    sinusoidal_halves (Marian and Pegasus in Hugging Face), fixed (the same as a table up to max_positions, which may be rounded
    and is never trained), marian (Marian itself), m2m (M2M-100, NLLB) and bart (learned; BART, mBART)."""
    relative: RelativeChoice = "none"
    """Relative positions in self-attention: none, shaw, t5 (a set of biases for each layer), t5_shared (one set for all, as in
    T5), alibi or rotary."""
    self_score: ScoreChoice = "scaled_dot"
    """Attention score in self-attention."""
    self_weights: WeightsName = "softmax"
    """How scores become weights in self-attention: softmax, sparsemax or entmax15."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings and on each sub-layer's output."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on attention weights."""
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the feed-forward network."""
    max_positions: int = Field(512, ge=1)
    """Maximum sentence length for learned or fixed positions and the location score, in tokens."""
    zero_start: bool = False
    """Start with zeros in the last matrix of every attention and feed-forward network, so that each layer returns its input at
    first (Zhang et al. 2019, Fixup, section 3, rule 1); by default it is random."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @property
    def bound(self) -> int | None:
        """Return the maximum number of tokens that self-attention can take; None for no limit."""
        return self.max_positions if self.positions in BOUNDED or self.self_score == "location" else None

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        fused = self.self_score in PRODUCTS and self.self_weights == "softmax"
        return Capabilities(
            drops_attention=True,
            one_program=True,
            data_dependent=() if self.experts is None else ("model.experts",),
            packs=fused and self.relative in ("none", "rotary") and self.attention_dropout == 0,
            source_positions=self.bound,
            target_positions=self.bound,
        )


class EncoderSettings(BlockSettings):
    """A bidirectional stack: every position sees the whole sentence."""

    encoder_layers: int = Field(6, ge=1, le=1000)
    """Layers of the encoder."""


class DecoderSettings(BlockSettings):
    """A causal stack, which reads a sentence from left to right."""

    decoder_layers: int = Field(6, ge=1, le=1000)
    """Layers of the decoder."""


class MaskedSettings(EncoderSettings):
    """An encoder-only model that learns to fill in masked tokens; the output layer is tied to the embedding."""

    kind: Literal["masked_lm"] = "masked_lm"

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        return replace(super().capabilities, purpose="fill")


class DecoderOnlySettings(DecoderSettings):
    """A decoder-only model that learns to continue text; the output layer is tied to the embedding."""

    kind: Literal["decoder_only"] = "decoder_only"

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        return replace(super().capabilities, purpose="generate", packs=False, source_positions=None)


class TransformerSettings(EncoderSettings, DecoderSettings):
    """A Transformer encoder-decoder."""

    kind: Literal["transformer"] = "transformer"
    cross_score: ScoreChoice = "scaled_dot"
    """Attention score of the decoder over the source."""
    cross_weights: WeightsName = "softmax"
    """How scores become weights over the source."""
    autoregression: Literal["attention", "ssru"] = "attention"
    """How the decoder reads what it has written: attention, or a recurrent unit, the SSRU (Kim et al. 2019), which takes the same
    time for every position; then settings of self-attention are those of the encoder."""
    window: WindowSettings | None = None
    """Local attention to the source; by default attention is global."""
    hard: HardSettings | None = None
    """Hard attention to the source; by default attention is soft."""
    tied: Literal["all", "target", "embeddings", "none"] = "all"
    """Tie both embeddings and the output layer (all), the target embedding and the output layer (target), or both embeddings
    alone (embeddings)."""
    lexical: bool = False
    """Let the source embeddings that the first head of the decoder's middle layer attends to reach the output layer directly:
    words are learned sooner, and rare ones better (Nguyen and Chiang 2018, section 4). Needs `tied: all` or `target`."""
    scaling: Literal["embeddings", "output", "none"] = "embeddings"
    """embeddings: multiply embeddings by sqrt(width), as in the paper. output: divide the last states by it before the output
    layer, as in T5. none: neither."""
    output_bias: bool = False
    """Give the output layer a bias."""

    @model_validator(mode="after")
    def _check_lexical(self) -> "TransformerSettings":
        if self.lexical and self.tied not in ("all", "target"):
            raise ValueError(NEEDS_TIED.format(remedy="`model.tied: all` or `target`"))
        return self

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        shared = super().capabilities
        plain = self.cross_weights == "softmax" and self.window is None and self.hard is None
        across = self.cross_score in PRODUCTS and plain and self.attention_dropout == 0
        return replace(
            shared,
            source_heads=(self.decoder_layers, self.heads),
            lexicon=self.lexical and self.tied == "target",
            one_program=self.autoregression == "attention",
            data_dependent=(*shared.data_dependent, *(() if self.hard is None else ("model.hard",))),
            packs=shared.packs or across,
            source_positions=self.max_positions if self.cross_score == "location" else self.bound,
            window=self.window,
        )
