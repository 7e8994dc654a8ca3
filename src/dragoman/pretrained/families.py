"""Say in settings of the Transformer what the `config.json` of a pretrained model describes, or refuse it by name.

| family                | norm                  | positions                 | activation     | output layer            |
| --------------------- | --------------------- | ------------------------- | -------------- | ----------------------- |
| marian                | post                  | sinusoids in halves       | swish, relu    | tied, with a bias       |
| pegasus               | pre                   | sinusoids in halves       | any            | tied, with a bias       |
| m2m_100 (NLLB)        | pre                   | sinusoids of fairseq      | relu           | tied                    |
| mbart                 | pre, embeddings too   | learned                   | relu, gelu     | tied, with a bias       |
| bart                  | post, embeddings too  | learned                   | gelu           | tied, with a bias       |
| t5                    | pre, root mean square | biases shared by layers   | relu           | tied, after a division  |
| t5 (version 1.1), mt5 | pre, root mean square | biases shared by layers   | gated gelu     | its own                 |

Source: the models' code in Hugging Face's transformers 5.23, whose results are followed even where it deviates from the
original. Values of a configuration that matter in training only, such as `layerdrop`, are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.errors import ImportModelError, SettingsError, shorten
from dragoman.layers.positions import sinusoids_in_halves
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.settings import nearest, parse
from dragoman.special_ids import SpecialIds

ACTIVATIONS: Mapping[str, str] = {
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Hugging Face's names of activations, and those here."""
WHOLE = ("MTModel", "ForConditionalGeneration", "WithLMHeadModel")
"""Endings of the names of classes with an encoder, a decoder and an output layer."""
ALONE: Mapping[str, str] = {
    **dict.fromkeys(("ForCausalLM", "LMHeadModel"), "a decoder alone, which continues text"),
    **dict.fromkeys(("ForMaskedLM", "ForSequenceClassification", "ForTokenClassification"), "an encoder alone"),
    **dict.fromkeys(("BertModel", "bertModel", "bertaModel"), "an encoder alone"),  # also RoBERTa, ALBERT, DeBERTa
}
"""Endings of the names of classes that are a part of one, and what they are."""
TABLES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
"""The tensors that say, if they are there, which position embeddings a model of Marian or Pegasus was saved with."""
HEAD = "lm_head.weight"
"""The tensor of an output layer that may be tied or not."""


@dataclass(frozen=True)
class Description:
    """A pretrained model: how to build it here, and what its vocabularies are."""

    family: str
    settings: TransformerSettings
    special: SpecialIds
    """`bos` is the token that the decoder starts with, whatever its name, so it may be that of padding or of the end."""
    source_size: int
    target_size: int
    shared: bool
    """Whether both sides have one vocabulary."""
    table_rows: int = 0
    """Rows of the tables of sinusoids that are saved with the weights, although they follow from a formula; 0 if none are. Where
    only a configuration is given, Pegasus is taken to have them, since it saves them and Marian does not."""

    @property
    def vocabularies(self) -> Vocabularies:
        """Return the sizes of the vocabularies, and their special ids."""
        return Vocabularies(self.source_size, self.target_size, self.shared, self.special)


@dataclass(frozen=True)
class Bart:
    """What distinguishes one family with BART's code from another, and what its configurations may leave out."""

    norm: Literal["pre", "post"]
    positions: str
    embedding_norm: bool = False
    output_bias: bool = True
    scaled: bool = False
    activation: str = "gelu"
    pad: int = 1
    eos: int = 2
    start: int | None = None
    """The first decoder input; by default `eos`."""
    unk: int = 3


BARTS: Mapping[str, Bart] = {
    "marian": Bart("post", "sinusoidal_halves", eos=0, unk=1),
    "pegasus": Bart("pre", "sinusoidal_halves", pad=0, eos=1, start=0, unk=105),
    "m2m_100": Bart("pre", "m2m", output_bias=False, scaled=True, activation="relu"),
    "mbart": Bart("pre", "bart", embedding_norm=True),
    "bart": Bart("post", "bart", embedding_norm=True),
}
FEED_FORWARD: Mapping[str, str] = {"t5": "relu", "mt5": "gated-gelu"}
"""The families with T5's code, and what their feed-forward networks are unless the configuration says it."""
FAMILIES = (*BARTS, *FEED_FORWARD)
"""What `model_type` may be."""


def describe(config: Mapping[str, Any], tensors: Mapping[str, Tensor] | None = None) -> Description:
    """Return how to build the model of a `config.json`. Raises ImportModelError for what cannot be expressed.

    `tensors` are the model's, if they are at hand: they tell what a configuration does not, which is whether an output layer
    of T5 is its own, and whether the position embeddings are exactly those of the formula. The entries `positions: marian`,
    `norm_epsilon` and `autoregression: ssru` ask for what models in Marian's own form have, and Hugging Face does not compute.
    """
    family = _family(config)
    return _bart(config, family, tensors) if family in BARTS else _t5(config, family, tensors)


def _family(config: Mapping[str, Any]) -> str:
    """Return the family of a model; ImportModelError for one that is unknown, or that is not a whole translation model."""
    family, classes = config.get("model_type"), config.get("architectures") or []
    if not isinstance(classes, list):
        raise ImportModelError(
            f"`architectures` of config.json is {shorten(repr(classes))}; it must be a list of names"
        )
    if not isinstance(family, str) or family not in FAMILIES:
        for name in map(str, classes):
            for ending, what in ALONE.items():
                if name.endswith(ending):
                    raise ImportModelError(
                        f"the model is {what} (`{shorten(name)}`); import an encoder-decoder that translates"
                    )
        hint = "; known: " + ", ".join(FAMILIES) if not isinstance(family, str) else nearest(family, FAMILIES)
        raise ImportModelError(f"models of the type `{shorten(str(family))}` (`model_type`) cannot be imported{hint}")
    if not config.get("is_encoder_decoder", True) or not all(str(one).endswith(WHOLE) for one in classes):
        what = f"a `{shorten(str(classes[0]))}`" if classes else f"a part of a `{family}` model"
        raise ImportModelError(
            f"the model is {what}, which is not a whole encoder-decoder with its output layer; import one that translates"
        )
    if config.get("quantization_config"):
        raise ImportModelError(
            "the model's weights are quantised (`quantization_config`); import the one that it was made from"
        )
    return family


def _bart(config: Mapping[str, Any], family: str, tensors: Mapping[str, Tensor] | None) -> Description:
    """Describe a model with BART's code."""
    kind = BARTS[family]
    width, source = _number(config, "d_model"), _number(config, "vocab_size")
    shared = bool(config.get("share_encoder_decoder_embeddings", True))
    target = source if shared else _number(config, "decoder_vocab_size", source)
    tied = {(True, True): "all", (True, False): "embeddings", (False, True): "target", (False, False): "none"}
    positions = config.get("positions", kind.positions)
    saved = {} if tensors is None or positions != "sinusoidal_halves" else tensors
    tables = [saved[name] for name in TABLES if name in saved]
    computed = all(_computed(table) for table in tables)
    settings = {
        "width": width,
        "encoder_layers": _number(config, "encoder_layers"),
        "decoder_layers": _number(config, "decoder_layers"),
        "heads": _of_both(config, "attention_heads"),
        "feed_forward": _of_both(config, "ffn_dim"),
        "activation": _activation(config, "activation_function", kind.activation),
        "norm": kind.norm,
        "norm_epsilon": config.get("norm_epsilon"),
        "embedding_norm": kind.embedding_norm,
        "positions": positions if computed else "fixed",
        "tied": tied[shared, bool(config.get("tie_word_embeddings", True))],
        "scaling": "embeddings" if config.get("scale_embedding", kind.scaled) else "none",
        "output_bias": kind.output_bias,
        "autoregression": config.get("autoregression", "attention"),
        "dropout": config.get("dropout", 0.1),
        "attention_dropout": config.get("attention_dropout", 0.0),
        "feed_forward_dropout": config.get("activation_dropout", 0.0),
    }
    if positions == "bart":
        settings["max_positions"] = _number(config, "max_position_embeddings", 1024)
    elif not computed:
        settings["max_positions"] = len(tables[0])
    pad = target - 1 if family == "marian" else kind.pad
    start = pad if family == "marian" else kind.start
    special = _special(config, target, pad=pad, start=start, eos=kind.eos, unk=kind.unk)
    rows = len(tables[0]) if tables else 0
    if family == "pegasus" and positions == "sinusoidal_halves" and tensors is None:
        rows = _number(config, "max_position_embeddings", 1024)
    return Description(family, _settings(settings), special, source, target, shared, rows if computed else 0)


def _t5(config: Mapping[str, Any], family: str, tensors: Mapping[str, Tensor] | None) -> Description:
    """Describe a model with T5's code."""
    for name, needed in (
        ("relative_attention_num_buckets", 32),
        ("relative_attention_max_distance", 128),
        ("layer_norm_epsilon", 1e-6),
    ):
        if config.get(name, needed) != needed:
            raise ImportModelError(f"models with `{name}: {config[name]}` cannot be imported, only with {needed}")
    width, size, heads = _number(config, "d_model"), _number(config, "vocab_size"), _number(config, "num_heads")
    layers, head = _number(config, "num_layers"), _number(config, "d_kv", 64)
    network = str(config.get("feed_forward_proj", FEED_FORWARD[family]))
    activation = "gelu_new" if network == "gated-gelu" else network.removeprefix("gated-")
    # Since transformers 5 `tie_word_embeddings` is always true in what is saved, and `scale_decoder_outputs` has its meaning.
    tied_output = config.get("tie_word_embeddings", True) is not False
    original = family == "t5" and bool(config.get("scale_decoder_outputs", tied_output))
    tied = original or (tensors is not None and HEAD not in tensors)
    rate = config.get("dropout_rate", 0.1)
    settings = {
        "width": width,
        "encoder_layers": layers,
        "decoder_layers": _number(config, "num_decoder_layers", layers),
        "heads": heads,
        "head_size": None if head * heads == width else head,
        "feed_forward": _number(config, "d_ff"),
        "gated": network.startswith("gated-"),
        "activation": _activation({"feed_forward_proj": activation}, "feed_forward_proj", activation),
        "biases": False,
        "norm": "pre",
        "norm_kind": "rms",
        "positions": "none",
        "relative": "t5_shared",
        "self_score": "dot",
        "cross_score": "dot",
        "tied": "all" if tied else "embeddings",
        "scaling": "output" if original else "none",
        **dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), rate),
    }
    special = _special(config, size, pad=0, start=0, eos=1, unk=2)
    return Description(family, _settings(settings), special, size, size, True)


def _settings(table: Mapping[str, Any]) -> TransformerSettings:
    """Return settings of the Transformer; ImportModelError for values that it cannot have."""
    try:
        return parse(TransformerSettings, table, "the model's configuration")
    except SettingsError as error:
        raise ImportModelError(str(error)) from None


def _number(config: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Return a whole number of a configuration; None there means the default, as where nothing is said."""
    value = default if config.get(name) is None else config[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ImportModelError(
            f"the model's configuration has `{name}: {shorten(value)}`, but it must be a number of at least 1; download it again"
        )
    return value


def _of_both(config: Mapping[str, Any], name: str) -> int:
    """Return a number that encoder and decoder share here; ImportModelError where they differ."""
    encoder, decoder = (_number(config, f"{side}_{name}") for side in ("encoder", "decoder"))
    if encoder != decoder:
        raise ImportModelError(
            f"models with `encoder_{name}: {encoder}` and `decoder_{name}: {decoder}` cannot be imported, only with equal ones"
        )
    return encoder


def _activation(config: Mapping[str, Any], name: str, default: str) -> str:
    """Return the name of an activation here."""
    given = str(config.get(name, default))
    if given not in ACTIVATIONS:
        raise ImportModelError(
            f"models with `{name}: {shorten(given)}` cannot be imported{nearest(given, list(ACTIVATIONS))}"
        )
    return ACTIVATIONS[given]


def _special(config: Mapping[str, Any], size: int, *, pad: int, start: int | None, eos: int, unk: int) -> SpecialIds:
    """Return the special ids of a target vocabulary; the keyword arguments are those of its family."""
    end = _id(config, "eos_token_id", size, default=eos)
    padding = _id(config, "pad_token_id", size, default=pad)
    first = _id(config, "decoder_start_token_id", size, default=end if start is None else start)
    unknown = _id(config, "unk_token_id", size, default=min(unk, size - 1))
    return SpecialIds(padding, first, end, unknown, first)


def _id(config: Mapping[str, Any], name: str, size: int, *, default: int) -> int:
    """Return an id of a configuration, which may be a list of one."""
    value = default if config.get(name) is None else config[name]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise ImportModelError(
            f"the model's configuration has `{name}: {shorten(value)}`, which is not one id below {size}, the size of its "
            "vocabulary; download it again"
        )
    return value


def _computed(table: Tensor) -> bool:
    """Tell whether a table of position embeddings holds what `sinusoids_in_halves` computes."""
    if table.dim() != 2:
        return True  # a wrong shape, which is refused by name with the weights
    own = sinusoids_in_halves(0, *table.shape)
    return torch.allclose(table.float(), own, rtol=0, atol=1e-6)
