"""The Transformer (Vaswani et al. 2017), with any score in its heads."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.hard import sum_choices
from dragoman.attention.lookup import LookupOptions
from dragoman.attention.multi_head import MultiHead, ProjectionOptions
from dragoman.attention.relative import Relative, build_relative
from dragoman.errors import SettingsError
from dragoman.interfaces import Attended, DecoderOutput, DecoderState, Encoded, KeyValues, Padded
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.experts import ExpertOutput, Experts, real_inputs, sum_penalties, transform
from dragoman.layers.feed_forward import FeedForward
from dragoman.layers.lexical import LexicalModule
from dragoman.layers.lexical_settings import middle_layer
from dragoman.layers.positions import build_positions
from dragoman.layers.residual import Residual, build_norm
from dragoman.layers.ssru import Cell, SimplerRecurrentUnit
from dragoman.machine.dtypes import to_matmul_dtype
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer_settings import (
    BlockSettings,
    DecoderOnlySettings,
    EncoderSettings,
    TransformerSettings,
)
from dragoman.special_ids import SPECIAL_IDS, SpecialIds


@dataclass(frozen=True)
class TransformerSource:
    """The source as each decoder layer attends to it; no memories without a source."""

    memories: tuple[KeyValues, ...]
    mask: Bool[Tensor, "batch source"]
    embedded: Float[Tensor, "batch source width"] | None = None
    """Its embeddings, for a lexical module."""


@dataclass(frozen=True)
class TransformerPast:
    """What each layer keeps of the target positions so far; nothing before the first."""

    memories: tuple[KeyValues | Cell, ...]
    position: int = 0
    """Number of target positions so far."""


@dataclass(frozen=True)
class LayerStep:
    """The result of a decoder layer: its states, its past, and its attention to the source, if any."""

    states: Float[Tensor, "batch target width"]
    past: KeyValues | Cell
    source: Attended | None
    penalty: Float[Tensor, ""] | None = None


TransformerState = DecoderState[TransformerSource, TransformerPast]


def _relative(settings: BlockSettings, *, causal: bool) -> Relative:
    """Build the relative positions of one layer, or of all of them."""
    head_dim = settings.head_size or settings.width // settings.heads
    return build_relative(settings.relative, heads=settings.heads, head_dim=head_dim, causal=causal)


def _shared_relative(settings: BlockSettings, *, causal: bool) -> Relative | None:
    """Build the relative positions that the layers of a stack share, if they do."""
    return _relative(settings, causal=causal) if settings.relative == "t5_shared" else None


def _self_attention(settings: BlockSettings, relative: Relative | None, *, causal: bool) -> MultiHead:
    """Build one self-attention; `relative` are the positions that it shares with other layers."""
    own = _relative(settings, causal=causal) if relative is None else relative
    return _attention(settings, settings.self_score, LookupOptions(settings.self_weights), relative=own)


def _cross_attention(settings: TransformerSettings) -> MultiHead:
    """Build one attention to the source."""
    kind = LookupOptions(settings.cross_weights, settings.window, settings.hard)
    return _attention(settings, settings.cross_score, kind)


def _attention(
    settings: BlockSettings, score: str, kind: LookupOptions, *, relative: Relative | None = None
) -> MultiHead:
    """Build one attention."""
    return MultiHead(
        settings.width,
        settings.heads,
        score=score,
        kind=kind,
        relative=relative,
        projections=ProjectionOptions(settings.head_size, settings.biases),
        positions=settings.max_positions,
        dropout=settings.attention_dropout,
    )


def _feed_forward(settings: BlockSettings) -> FeedForward | Experts:
    """Build the position-wise part of a layer."""
    if settings.experts is None:
        return FeedForward(
            settings.width,
            settings.feed_forward,
            settings.feed_forward_dropout,
            gated=settings.gated,
            activation=settings.activation,
            biases=settings.biases,
        )
    return Experts(settings.width, settings.feed_forward, settings.experts, dropout=settings.feed_forward_dropout)


def _residual(settings: BlockSettings) -> Residual:
    """Build one residual connection with its norm."""
    return Residual(
        settings.width, settings.norm, settings.dropout, kind=settings.norm_kind, epsilon=settings.norm_epsilon
    )


def _set_outputs_to_zero(layer: nn.Module) -> None:
    """Set the last matrix of each sub-layer to zero."""
    for part in layer.modules():
        match part:
            case MultiHead():
                nn.init.zeros_(part.output.weight)
            case FeedForward():
                nn.init.zeros_(part.outer.weight)
            case Experts():
                nn.init.zeros_(part.outer)


def _norm_if(wanted: bool, settings: BlockSettings) -> nn.Module:
    """Build a norm outside the layers, if it is wanted."""
    return build_norm(settings.norm_kind, settings.width, settings.norm_epsilon) if wanted else nn.Identity()


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with residual and norm (section 3.1)."""

    def __init__(self, settings: EncoderSettings, relative: Relative | None = None) -> None:
        super().__init__()
        self.attention = _self_attention(settings, relative, causal=False)
        self.feed_forward = _feed_forward(settings)
        self.after_attention = _residual(settings)
        self.after_feed_forward = _residual(settings)
        if settings.zero_start:
            _set_outputs_to_zero(self)

    def forward(
        self, states: Float[Tensor, "batch source width"], mask: Bool[Tensor, "batch 1 source"]
    ) -> ExpertOutput:
        """Let every position attend to every real position, then transform each."""
        states = self.after_attention(states, lambda x: self.attention(x, self.attention.prepare(x, x), mask).context)
        mixed = transform(self.feed_forward, self.after_feed_forward.normed_input(states), mask[:, 0])
        return ExpertOutput(self.after_feed_forward.add_output(states, mixed.states), mixed.penalty)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source if there is one, and feed-forward, each with residual and norm.

    Source: section 3.1. A layer of a decoder-only model has no attention to a source.
    """

    def __init__(self, settings: TransformerSettings | DecoderOnlySettings, relative: Relative | None = None) -> None:
        super().__init__()
        recurrent = isinstance(settings, TransformerSettings) and settings.autoregression == "ssru"
        self.self_attention: MultiHead | SimplerRecurrentUnit = (
            SimplerRecurrentUnit(settings.width) if recurrent else _self_attention(settings, relative, causal=True)
        )
        self.cross_attention = _cross_attention(settings) if isinstance(settings, TransformerSettings) else None
        self.feed_forward = _feed_forward(settings)
        self.after_self = _residual(settings)
        self.after_cross = _residual(settings) if self.cross_attention is not None else None
        self.after_feed_forward = _residual(settings)
        if settings.zero_start:
            _set_outputs_to_zero(self)

    def forward(
        self,
        states: Float[Tensor, "batch target width"],
        past: KeyValues | Cell | None,
        memory: KeyValues | None,
        *,
        offset: int,
        mask: Bool[Tensor, "sentence 1 source"] | None,
        real: Bool[Tensor, "batch target"] | None = None,
        need_weights: bool,
    ) -> LayerStep:
        """Read the target so far, attend to the source, then transform each position; experts process `real` only.

        The first of `states` is at position `offset`.
        """
        read, seen = self._read_target(self.after_self.normed_input(states), past, offset)
        states = self.after_self.add_output(states, read)
        source: Attended | None = None
        if self.cross_attention is not None and self.after_cross is not None and memory is not None:
            read = self.after_cross.normed_input(states)
            source = self.cross_attention(read, memory, mask, offset=offset, need_weights=need_weights)
            states = self.after_cross.add_output(states, source.context)
        mixed = transform(self.feed_forward, self.after_feed_forward.normed_input(states), real)
        return LayerStep(self.after_feed_forward.add_output(states, mixed.states), seen, source, mixed.penalty)

    def _read_target(
        self, states: Float[Tensor, "batch target width"], past: KeyValues | Cell | None, offset: int
    ) -> tuple[Float[Tensor, "batch target width"], KeyValues | Cell]:
        """Attend to the target so far, or process it by a recurrent unit; return what is kept of it too."""
        if isinstance(self.self_attention, SimplerRecurrentUnit):
            assert not isinstance(past, KeyValues)
            return self.self_attention(states, past)
        assert not isinstance(past, Cell)
        new = self.self_attention.prepare(states, states, offset=offset)
        seen = new if past is None else past.extend(new)
        count = states.shape[1]
        may_see = None if count == 1 else masks.causal(count, offset + count, states.device)
        return self.self_attention(states, seen, may_see, offset=offset, causal=count > 1).context, seen

    def prepare(self, states: Float[Tensor, "batch source width"]) -> KeyValues:
        """Project the source's keys and values."""
        assert self.cross_attention is not None
        return self.cross_attention.prepare(states, states)


class TransformerEncoder(nn.Module):
    """Embedding, positions and layers; pre-norm ends with one more norm."""

    def __init__(self, settings: EncoderSettings, embedding: TokenEmbedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = build_positions(settings.positions, settings.width, settings.max_positions)
        self.embedding_norm = _norm_if(settings.embedding_norm, settings)
        self.dropout = Dropout(settings.dropout)
        relative = _shared_relative(settings, causal=False)
        self.layers = nn.ModuleList(EncoderLayer(settings, relative) for _ in range(settings.encoder_layers))
        self.norm = _norm_if(settings.norm == "pre", settings)
        self.hands_on_embeddings = isinstance(settings, TransformerSettings) and settings.lexical

    def forward(self, source: Padded) -> Encoded:
        """Return one state per source position."""
        mask = masks.to_source(source.mask)
        embedded = self.embedding(source.ids)
        states = self.dropout(to_matmul_dtype(self.embedding_norm(self.positions(embedded))))
        penalties: list[Tensor | None] = []
        for layer in self.layers:
            mixed = layer(states, mask)
            states = mixed.states
            penalties.append(mixed.penalty)
        handed_on = self.dropout(to_matmul_dtype(embedded)) if self.hands_on_embeddings else None
        return Encoded(self.norm(states), source.mask, penalty=sum_penalties(penalties), embedded=handed_on)


class TransformerDecoder(nn.Module):
    """Embedding, positions, layers and output layer, which a decoder-only model always ties to the embedding."""

    layers: Iterable[DecoderLayer]

    special: SpecialIds = SPECIAL_IDS

    def __init__(
        self, settings: TransformerSettings | DecoderOnlySettings, embedding: TokenEmbedding, vocabulary: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = build_positions(settings.positions, settings.width, settings.max_positions)
        self.embedding_norm = _norm_if(settings.embedding_norm, settings)
        self.dropout = Dropout(settings.dropout)
        relative = _shared_relative(settings, causal=True)
        layers = (DecoderLayer(settings, relative) for _ in range(settings.decoder_layers))
        self.layers = nn.ModuleList(layers)  # type: ignore[assignment]
        self.norm = _norm_if(settings.norm == "pre", settings)
        full = settings if isinstance(settings, TransformerSettings) else None
        self.scale = settings.width**-0.5 if full is not None and full.scaling == "output" else None
        tied = None if full is not None and full.tied in ("none", "embeddings") else embedding
        self.head = OutputLayer(settings.width, vocabulary, tied, bias=full is not None and full.output_bias)
        self.lexical = LexicalModule(settings.width) if full is not None and full.lexical else None
        self.lexical_layer = middle_layer(settings.decoder_layers)

    def start(self, encoded: Encoded) -> TransformerState:
        """Project the source's keys and values for every layer that attends to it."""
        memories = tuple(layer.prepare(encoded.states) for layer in self.layers if layer.cross_attention is not None)
        return DecoderState(TransformerSource(memories, encoded.mask, encoded.embedded), TransformerPast(()))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: TransformerState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, TransformerState]:
        """Process `tokens` after those in `state`; predict the token after each."""
        pasts, memories, seen = state.past.memories, state.source.memories, state.past.position
        mask = masks.none_if_all_true(masks.to_source(state.source.mask)) if memories else None
        embedded = self.embedding_norm(self.positions(self.embedding(tokens), seen))
        states = self.dropout(to_matmul_dtype(embedded))
        real = real_inputs(tokens, self.special)
        steps: list[LayerStep] = []
        for index, layer in enumerate(self.layers):
            past, memory = pasts[index] if pasts else None, memories[index] if memories else None
            asked = need_weights or (self.lexical is not None and index == self.lexical_layer - 1)
            steps.append(layer(states, past, memory, offset=seen, mask=mask, real=real, need_weights=asked))
            states = steps[-1].states
        attended = [step.source for step in steps if step.source is not None]
        output = self._output(states, attended, state.source.embedded, need_weights=need_weights)
        output = replace(output, penalty=sum_penalties(step.penalty for step in steps))
        after = TransformerPast(tuple(step.past for step in steps), seen + tokens.shape[1])
        return output, DecoderState(state.source, after)

    def _output(
        self,
        states: Float[Tensor, "batch target width"],
        attended: list[Attended],
        embedded: Float[Tensor, "sentence source width"] | None,
        *,
        need_weights: bool,
    ) -> DecoderOutput:
        """Normalise the states, add what attended embeddings say, stack the weights of all layers, add up what they sampled."""
        normed = self.norm(states)
        if self.lexical is not None and embedded is not None:
            looked = attended[self.lexical_layer - 1].weights
            assert looked is not None
            normed = normed + self.lexical(looked[:, 0], embedded)
        weights = [one.weights for one in attended if one.weights is not None] if need_weights else []
        choices = [one.choice for one in attended if one.choice is not None]
        return DecoderOutput(
            normed if self.scale is None else normed * self.scale,
            self.head,
            torch.stack(weights, 1) if weights else None,
            choice=sum_choices(choices) if choices else None,
        )


def require_one_vocabulary(settings: TransformerSettings, *, shared: bool) -> None:
    """Raise SettingsError if the embeddings of both languages are to be one, but vocabularies are not `shared`."""
    if settings.tied in ("all", "embeddings") and not shared:
        raise SettingsError(
            f"`model.tied: {settings.tied}` needs one vocabulary for both languages; set `text.joint: true`, or "
            "`model.tied: target`"
        )


def build_transformer(
    settings: TransformerSettings,
    vocabularies: Vocabularies,
    *,
    encoder: type[TransformerEncoder] = TransformerEncoder,
    previous: int = 0,
) -> Seq2Seq:
    """Build the Transformer that `settings` describe, with any encoder class that takes them.

    `previous` is the number of previous sentences that the encoder reads. Raises SettingsError if the vocabularies cannot be
    tied.
    """
    require_one_vocabulary(settings, shared=vocabularies.shared)
    joint = settings.tied in ("all", "embeddings")
    scaled = settings.scaling == "embeddings"
    target = TokenEmbedding(vocabularies.target, settings.width, scaled=scaled)
    source = target if joint else TokenEmbedding(vocabularies.source, settings.width, scaled=scaled)
    if settings.scaling == "output":
        for embedding in {source, target}:
            embedding.weight.data *= settings.width**0.5
    return Seq2Seq(
        encoder(settings, source),
        TransformerDecoder(settings, target, vocabularies.target),
        source_positions=settings.max_positions if settings.cross_score == "location" else settings.bound,
        target_positions=settings.bound,
        previous=previous,
        hard=settings.hard,
    )
