"""Describe a Transformer in terms of CTranslate2, or say why that is impossible.

Differences are folded into the weights: a score without the division by sqrt(d), or with a matrix of its own, becomes the
scaled dot product of modified queries; a table of positions replaces CTranslate2's own, which differ.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.attention.multi_head import MultiHead
from dragoman.attention.relative import FARTHEST, REACH, T5, Shaw
from dragoman.attention.scores import BILINEAR, Cosine, Dot, General, ScaledGeneral
from dragoman.attention.settings import RelativeName
from dragoman.errors import ExportError
from dragoman.layers.feed_forward import FeedForward
from dragoman.layers.positions import LearnedPositions, PositionsName, SinusoidalPositions
from dragoman.layers.residual import EPSILON, Residual, RmsNorm
from dragoman.models.build import ModelSettings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.transformer import EncoderLayer, TransformerDecoder, TransformerEncoder
from dragoman.models.transformer_settings import TransformerSettings

POSITIONS = 1024
"""Rows in the table of sinusoids, and so the maximum number of tokens; a model of width 512 needs 2 MB for it."""


SCORES = {"self": (*BILINEAR, "cosine"), "cross": BILINEAR}
"""The scores that each side can have; norms of queries and keys, which cosines need, are ignored in attention to the source."""


def refuse(settings: ModelSettings) -> None:
    """Raise ExportError, which names the setting, for anything that CTranslate2 cannot express."""
    for what in obstacles(settings):
        raise ExportError(
            f"CTranslate2 cannot express {what}; translate with `dragoman translate --engine torch`, or train a Transformer that "
            "it can (`--set model.kind=transformer --set model.cross_score=scaled_dot`; docs/export.md says which)"
        )


def obstacles(settings: ModelSettings) -> Iterator[str]:
    """Yield the settings that CTranslate2 cannot express."""
    if not isinstance(settings, TransformerSettings) or settings.kind != "transformer":
        yield f"a model of the kind `{settings.kind}`"
        return
    for side, score in (("self", settings.self_score), ("cross", settings.cross_score)):
        if score not in SCORES[side]:
            yield f"the score `model.{side}_score: {score}`"
    for name, known in (("positions", PositionsName), ("relative", RelativeName)):
        if getattr(settings, name) not in get_args(known):
            yield f"`model.{name}: {getattr(settings, name)}`"
    if settings.relative == "shaw" and settings.self_score != "scaled_dot":
        yield f"`model.relative: shaw` with `model.self_score: {settings.self_score}`"
    if settings.relative == "rotary" and settings.self_score in ("general", "scaled_general"):
        yield f"`model.relative: rotary` with `model.self_score: {settings.self_score}`"
    if settings.autoregression != "attention":
        yield f"`model.autoregression: {settings.autoregression}`"
    if settings.lexical:
        yield "`model.lexical: true`"
    for side, weights in (("self", settings.self_weights), ("cross", settings.cross_weights)):
        if weights != "softmax":
            yield f"the sparse weights `model.{side}_weights: {weights}`"
    if settings.relative == "alibi":
        yield "`model.relative: alibi` on both sides"
    elif settings.relative != "none" and settings.positions != "none":
        yield f"`model.relative: {settings.relative}` with `model.positions: {settings.positions}`"
    for name in ("window", "hard", "experts"):
        if getattr(settings, name) is not None:
            yield f"`model.{name}`"


def describe(
    model: Seq2Seq, settings: ModelSettings, source: Sequence[str], *, target: Sequence[str], attends: int | None = None
) -> Any:
    """Return the `TransformerSpec` of a model with the vocabularies `source` and `target`, not yet quantised.

    `attends` is the decoder layer (from 1) whose weights give word alignments; by default the last. Raises ExportError if
    CTranslate2 cannot express the model.
    """
    refuse(settings)
    assert isinstance(settings, TransformerSettings)
    from ctranslate2 import specs

    spec = specs.TransformerSpec(*_stacks(settings, specs, attends))
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TransformerEncoder) and isinstance(decoder, TransformerDecoder)
    _fill_stack(spec.encoder, encoder, spec.encoder.embeddings[0], settings=settings)
    _fill_stack(spec.decoder, decoder, spec.decoder.embeddings, settings=settings)
    for layer, own in zip(spec.encoder.layer, encoder.layers, strict=True):
        assert isinstance(own, EncoderLayer)
        _fill_attention(layer.self_attention, own.attention, own.after_attention, itself=True)
        _fill_feed_forward(layer.ffn, own.feed_forward, own.after_feed_forward)
    for layer, own in zip(spec.decoder.layer, decoder.layers, strict=True):
        assert isinstance(own.self_attention, MultiHead)
        assert own.cross_attention is not None and own.after_cross is not None
        _fill_attention(layer.self_attention, own.self_attention, own.after_self, itself=True)
        _fill_attention(layer.attention, own.cross_attention, own.after_cross, itself=False)
        _fill_feed_forward(layer.ffn, own.feed_forward, own.after_feed_forward)
    spec.decoder.projection.weight = _array(decoder.head.weight)
    if decoder.head.bias is not None:
        spec.decoder.projection.bias = _array(decoder.head.bias)
    if decoder.scale is not None:
        spec.decoder.scale_outputs = decoder.scale
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    names = {name: target[getattr(model.special, name)] for name in ("bos", "eos", "unk")}
    spec.config.bos_token = spec.config.decoder_start_token = names["bos"]
    spec.config.eos_token, spec.config.unk_token = names["eos"], names["unk"]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = settings.norm_epsilon or EPSILON[settings.norm_kind]
    spec.validate()
    return spec


def _stacks(settings: TransformerSettings, specs: Any, attends: int | None) -> tuple[Any, Any]:
    """Return the empty specifications of encoder and decoder."""
    activation = settings.activation or ("swish" if settings.gated else "relu")
    common: dict[str, Any] = {
        "pre_norm": settings.norm == "pre",
        "rms_norm": settings.norm_kind == "rms",
        "layernorm_embedding": settings.embedding_norm,
        "activation": getattr(specs.Activation, {"gelu_tanh": "GELUTanh"}.get(activation, activation.upper())),
        "ffn_glu": settings.gated,
        "head_dim": settings.head_size,
        "relative_position": settings.relative == "shaw",
        "relative_attention_bias": settings.relative in ("t5", "t5_shared"),
        "rotary_dim": 0 if settings.relative == "rotary" else None,
    }
    encoder = specs.transformer_spec.TransformerEncoderSpec(settings.encoder_layers, settings.heads, **common)
    layer = settings.decoder_layers if attends is None else attends
    decoder = specs.transformer_spec.TransformerDecoderSpec(
        settings.decoder_layers, settings.heads, alignment_layer=layer - 1, alignment_heads=0, **common
    )
    for stack in (encoder, decoder):
        stack.scale_embeddings = settings.scaling == "embeddings"
    return encoder, decoder


def _fill_stack(
    spec: Any, stack: TransformerEncoder | TransformerDecoder, embedding: Any, *, settings: TransformerSettings
) -> None:
    """Fill in everything outside the layers: embedding, positions and norms."""
    embedding.weight = _array(stack.embedding.weight)
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _positions(stack.positions, settings.width)
    if settings.embedding_norm:
        _fill_norm(spec.layernorm_embedding, stack.embedding_norm)
    if settings.norm == "pre":
        _fill_norm(spec.layer_norm, stack.norm)


def _positions(positions: nn.Module, width: int) -> Float[np.ndarray, "position width"]:
    """Return the vector added at each position; zeros keep CTranslate2 from adding its own sinusoids."""
    match positions:
        case LearnedPositions():
            return _array(positions.table.weight[positions.unused :])
        case SinusoidalPositions():
            return _array(positions.table(0, POSITIONS))
        case _:
            return np.zeros((POSITIONS, width), np.float32)


def _fill_attention(spec: Any, attention: MultiHead, residual: Residual, *, itself: bool) -> None:
    """Fill in one attention with the norm of its residual; in self-attention, queries, keys and values are one matrix."""
    _fill_norm(spec.layer_norm, residual.norm)
    query, query_bias = scaled_queries(attention)
    both = attention.key_value
    if itself:
        bias = None if query_bias is None else torch.cat([query_bias, both.bias])
        _fill_linear(spec.linear[0], torch.cat([query, both.weight]), bias)
    else:
        _fill_linear(spec.linear[0], query, query_bias)
        _fill_linear(spec.linear[1], both.weight, both.bias)
    _fill_linear(spec.linear[-1], attention.output.weight, attention.output.bias)
    if isinstance(attention.score, Cosine):
        _fill_lengths(spec, attention.score, query.shape[0] // attention.heads)
    match attention.relative:
        case Shaw(keys=keys, averaged=averaged):
            spec.relative_position_keys = _distances(keys)
            spec.relative_position_values = _distances(averaged)
        case T5(table=table):
            spec.relative_attention_bias = _array(table)
            spec.relative_attention_max_distance = np.int32(FARTHEST)


def _fill_lengths(spec: Any, score: Cosine, head_dim: int) -> None:
    """Fill in norms of queries and keys that make their scaled dot product the cosine times its strength.

    Divided by the root of the mean square of its d entries, a vector has the length sqrt(d); CTranslate2 divides their product by
    sqrt(d).
    """
    from ctranslate2.specs import common_spec

    for name, factor in (("q_norm", score.strength.item() / math.sqrt(head_dim)), ("k_norm", 1.0)):
        norm = common_spec.LayerNormSpec(rms_norm=True)
        norm.gamma = np.full(head_dim, factor, np.float32)
        vars(spec)[name] = norm  # specifications let no attribute be added


def scaled_queries(attention: MultiHead) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias, if any, of the queries whose scaled dot product with the keys is the attention's score."""
    heads = attention.query.weight.double().unflatten(0, (attention.heads, -1))
    given = attention.query.bias
    biases = None if given is None else given.double().unflatten(0, (attention.heads, -1))
    root = math.sqrt(heads.shape[1])
    if isinstance(attention.score, Dot):
        turn = root * torch.eye(heads.shape[1], dtype=torch.float64)
    elif isinstance(attention.score, General):  # s (W h) = (W^T s) h, for each head
        turn = attention.score.key.weight.double().T * (1 if isinstance(attention.score, ScaledGeneral) else root)
    else:
        return attention.query.weight, given
    weight = torch.einsum("ij,hjk->hik", turn, heads).flatten(0, 1)
    return weight.float(), None if biases is None else torch.einsum("ij,hj->hi", turn, biases).flatten().float()


def _distances(vectors: Float[Tensor, "distance head_dim"]) -> Float[np.ndarray, "..."]:
    """Return vectors for the distances -16 to 16; those that causal attention never uses are 0."""
    missing = 2 * REACH + 1 - vectors.shape[0]
    return _array(nn.functional.pad(vectors, (0, 0, 0, missing)))


def _fill_feed_forward(spec: Any, network: nn.Module, residual: Residual) -> None:
    """Fill in one feed-forward network with the norm of its residual."""
    assert isinstance(network, FeedForward)
    _fill_norm(spec.layer_norm, residual.norm)
    linears = [spec.linear_0, spec.linear_0_noact] if network.gated else [spec.linear_0]
    weights, bias = network.inner.weight.chunk(len(linears)), network.inner.bias
    biases: Sequence[Tensor | None] = [None] * len(linears) if bias is None else bias.chunk(len(linears))
    for linear, weight, own in zip(linears, weights, biases, strict=True):
        _fill_linear(linear, weight, own)
    _fill_linear(spec.linear_1, network.outer.weight, network.outer.bias)


def _fill_norm(spec: Any, norm: nn.Module) -> None:
    """Fill in one norm; that of the root mean square has no bias."""
    spec.gamma = _array(norm.get_parameter("weight"))
    if not isinstance(norm, RmsNorm):
        spec.beta = _array(norm.get_parameter("bias"))


def _fill_linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    """Fill in one linear map."""
    spec.weight = _array(weight)
    if bias is not None:
        spec.bias = _array(bias)


def _array(tensor: Tensor) -> Float[np.ndarray, "..."]:
    """Return a copy of a tensor as a float32 array; CTranslate2 quantises in place."""
    return np.array(tensor.detach().float().cpu().numpy(), order="C")
