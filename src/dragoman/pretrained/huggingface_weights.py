"""Weights and configuration of a Transformer in the form of Hugging Face: Marian if it is post-norm, Pegasus if it is pre-norm.

Both are the Transformer of Vaswani et al. 2017 with biases, scaled embeddings and sinusoids (transformers,
`models/marian/modeling_marian.py`, `models/pegasus/modeling_pegasus.py`). One thing differs: their sinusoids have all sines
before all cosines, here they alternate. So the features of every state are put into that order, which is exact. Writing the
own table of positions instead would not last: Marian's is computed anew whenever a user saves the model.

A model whose embeddings are not all tied gets one matrix with the rows of the source, then those of the target, since Pegasus
has only one; the target's ids grow by the number of source rows, which a bias keeps from being predicted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from dragoman.attention.multi_head import MultiHead
from dragoman.conversion.specification import POSITIONS, scaled_queries
from dragoman.decoding.settings import DecodingSettings
from dragoman.layers.feed_forward import FeedForward
from dragoman.layers.positions import sinusoids
from dragoman.layers.residual import Residual
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.transformer import EncoderLayer, TransformerDecoder, TransformerEncoder
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.special_ids import SpecialIds

NEVER = -1e4
"""Logit of what cannot be predicted: its probability is 0, in half precision too."""
LONGEST = 512
"""Maximum tokens of a translation where a recipe limits them only in relation to the source, which Hugging Face cannot."""
TYPICAL_LENGTH = 20
"""Tokens of a translation at which the length normalisation of Wu et al. and that of Hugging Face are made alike."""
NOT_TAKEN_OVER = ("coverage_penalty", "mbr_samples", "rerank", "glossary", "dictionary", "shortlist")
"""Settings of search that Hugging Face's library does not have."""
ARCHITECTURES = {"marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration"}
ACTIVATIONS: Mapping[str | None, str] = {None: "relu", "gelu_tanh": "gelu_pytorch_tanh"}
"""Names of activations, where they are others than here."""

Form = Literal["marian", "pegasus"]


@dataclass(frozen=True)
class Layout:
    """Which form a model gets, and the rows of its embedding."""

    form: Form
    rows: int
    """Number of rows."""
    offset: int
    """Row of the first target token; 0 if both languages share all embeddings."""


def layout_of(settings: TransformerSettings, source: int, target: int) -> Layout:
    """Return the layout of a model with vocabularies of these sizes."""
    offset = 0 if settings.tied in ("all", "embeddings") else source
    return Layout("marian" if settings.norm == "post" else "pegasus", offset + target, offset)


def config_of(settings: TransformerSettings, layout: Layout, special: SpecialIds) -> dict[str, Any]:
    """Return the content of `config.json`."""
    sides = {
        f"{side}_{name}": value
        for side, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers))
        for name, value in (
            ("layers", layers),
            ("attention_heads", settings.heads),
            ("ffn_dim", settings.feed_forward),
        )
    }
    of_marian = {"decoder_vocab_size": layout.rows, "share_encoder_decoder_embeddings": True}
    return {
        "architectures": [ARCHITECTURES[layout.form]],
        "model_type": layout.form,
        "is_encoder_decoder": True,
        "d_model": settings.width,
        **sides,
        "activation_function": ACTIVATIONS.get(settings.activation, settings.activation),
        "scale_embedding": True,
        "normalize_before": settings.norm == "pre",
        "normalize_embedding": False,
        "static_position_embeddings": True,
        "max_position_embeddings": POSITIONS,
        "vocab_size": layout.rows,
        **(of_marian if layout.form == "marian" else {}),
        "tie_word_embeddings": settings.tied in ("all", "target"),
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.feed_forward_dropout,
        "pad_token_id": special.pad,
        "bos_token_id": layout.offset + special.bos,
        "eos_token_id": layout.offset + special.eos,
        "decoder_start_token_id": layout.offset + special.bos,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def left_out(settings: DecodingSettings) -> str:
    """Say which settings of search that a run has do not exist in Hugging Face's library; nothing if it has none of them."""
    plain = DecodingSettings()
    names = [f"`{name}`" for name in NOT_TAKEN_OVER if getattr(settings, name) != getattr(plain, name)]
    return f"`transformers` searches without the run's {', '.join(names)}, which it does not have." if names else ""


def generation_config_of(settings: DecodingSettings, layout: Layout, special: SpecialIds) -> dict[str, Any]:
    """Return the content of `generation_config.json`: a run's decoding settings, as far as Hugging Face has them.

    Its beam divides log-probabilities by length ** length_penalty, so `length_normalisation: wu` becomes that of `average`, with
    an exponent by which one more token counts as much at a length of `TYPICAL_LENGTH`.
    """
    found: dict[str, Any] = {
        "pad_token_id": special.pad,
        "bos_token_id": layout.offset + special.bos,
        "eos_token_id": layout.offset + special.eos,
        "decoder_start_token_id": layout.offset + special.bos,
        "bad_words_ids": [[layout.offset + index] for index in special.unwritten],
        "max_new_tokens": min(POSITIONS - 1, (settings.maximum_length or LONGEST - 1) + 1),
        "num_beams": settings.size if settings.method == "beam" else 1,
    }
    if found["num_beams"] > 1:
        factor = {"none": 0.0, "wu": TYPICAL_LENGTH / (TYPICAL_LENGTH + 5), "average": 1.0}[
            settings.length_normalisation
        ]
        found["length_penalty"] = round(factor * settings.length_penalty, 3)
        found["early_stopping"] = True if settings.stopping == "full" else "never"
    if settings.method == "sample":
        drawn = {"temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p}
        found |= {"do_sample": True, **drawn}
    if settings.minimum_length:
        found["min_new_tokens"] = settings.minimum_length
    if settings.no_repeat_ngram:
        found["no_repeat_ngram_size"] = settings.no_repeat_ngram
    return found


def tensors_of(model: Seq2Seq, settings: TransformerSettings, layout: Layout) -> dict[str, Tensor]:
    """Return the model's weights under Hugging Face's names, in float32, their features in its order."""
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TransformerEncoder) and isinstance(decoder, TransformerDecoder)
    order = sines_first(settings.width) if settings.positions == "sinusoidal" else torch.arange(settings.width)
    found = _embeddings(encoder, decoder, layout)
    found = {name: matrix[:, order] for name, matrix in found.items()}
    bias = torch.zeros(1, layout.rows)
    bias[:, : layout.offset] = NEVER
    if decoder.head.bias is not None:
        bias[0, layout.offset :] = decoder.head.bias.detach()
    found["final_logits_bias"] = bias
    for side, stack in (("encoder", encoder), ("decoder", decoder)):
        place = f"model.{side}"
        if layout.form == "pegasus":
            found[f"{place}.embed_positions.weight"] = sinusoids(0, POSITIONS, settings.width)[
                :, sines_first(settings.width)
            ]
            found |= _norm(f"{place}.layer_norm", stack.norm, order)
    for index, layer in enumerate(encoder.layers):
        assert isinstance(layer, EncoderLayer)
        place = f"model.encoder.layers.{index}"
        found |= _attention(f"{place}.self_attn", layer.attention, layer.after_attention, order=order)
        found |= _feed_forward(place, layer.feed_forward, layer.after_feed_forward, order=order)
    for index, own in enumerate(decoder.layers):
        assert isinstance(own.self_attention, MultiHead)
        assert own.cross_attention is not None and own.after_cross is not None
        place = f"model.decoder.layers.{index}"
        found |= _attention(f"{place}.self_attn", own.self_attention, own.after_self, order=order)
        found |= _attention(f"{place}.encoder_attn", own.cross_attention, own.after_cross, order=order)
        found |= _feed_forward(place, own.feed_forward, own.after_feed_forward, order=order)
    return {name: tensor.detach().float().contiguous() for name, tensor in found.items()}


def sines_first(width: int) -> Int[Tensor, " width"]:
    """Return the order of features in which all sines of alternating sinusoids come before all cosines.

    >>> sines_first(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])


def _embeddings(encoder: TransformerEncoder, decoder: TransformerDecoder, layout: Layout) -> dict[str, Tensor]:
    """Return the embedding of both languages and, if it is not tied to it, the output layer."""
    source, target, head = encoder.embedding.weight, decoder.embedding.weight, decoder.head.weight
    both = torch.cat([source, target]) if layout.offset else target
    found = {"model.shared.weight": both}
    if head is not target:  # then every copy is read
        found |= {f"model.{side}.embed_tokens.weight": both for side in ("encoder", "decoder")}
        found["lm_head.weight"] = torch.cat([torch.zeros_like(both)[: layout.offset], head])
    return found


def _attention(place: str, attention: MultiHead, residual: Residual, *, order: Tensor) -> dict[str, Tensor]:
    """Return one attention, and the norm of its residual."""
    keys, values = attention.key_value.weight.chunk(2)
    key_bias, value_bias = attention.key_value.bias.chunk(2)
    found = _norm(f"{place}_layer_norm", residual.norm, order)
    for name, weight, bias in (
        ("q_proj", *scaled_queries(attention)),
        ("k_proj", keys, key_bias),
        ("v_proj", values, value_bias),
    ):
        assert bias is not None
        found |= {f"{place}.{name}.weight": weight[:, order], f"{place}.{name}.bias": bias}
    output = attention.output
    return found | {f"{place}.out_proj.weight": output.weight[order], f"{place}.out_proj.bias": output.bias[order]}


def _feed_forward(place: str, network: nn.Module, residual: Residual, *, order: Tensor) -> dict[str, Tensor]:
    """Return one feed-forward network, and the norm of its residual."""
    assert isinstance(network, FeedForward)
    return _norm(f"{place}.final_layer_norm", residual.norm, order) | {
        f"{place}.fc1.weight": network.inner.weight[:, order],
        f"{place}.fc1.bias": network.inner.bias,
        f"{place}.fc2.weight": network.outer.weight[order],
        f"{place}.fc2.bias": network.outer.bias[order],
    }


def _norm(place: str, norm: nn.Module, order: Tensor) -> dict[str, Tensor]:
    """Return one layer norm."""
    return {f"{place}.{name}": norm.get_parameter(name)[order] for name in ("weight", "bias")}
