"""The weights of pretrained models by the names of Hugging Face, and by those here: in both directions, byte for byte.

Keys and values have one matrix here, and so have both parts of a gated feed-forward network; Hugging Face keeps them apart.
Embeddings and output layers that are one matrix stand under their first name here; there under up to four.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.attention.relative import T5
from dragoman.errors import ImportModelError
from dragoman.layers.outline import without_memory
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.pretrained.families import BARTS, HEAD, Description

LINEARS: Mapping[str, tuple[str, ...]] = {"query": ("q",), "key_value": ("k", "v"), "output": ("o",)}
"""T5's names of the matrices of an attention; several are parts of one here."""
BART_LINEARS: Mapping[str, tuple[str, ...]] = {
    "query": ("q_proj",),
    "key_value": ("k_proj", "v_proj"),
    "output": ("out_proj",),
    "inner": ("inner_proj",),
    "forget": ("forget_proj",),
}
"""BART's, and names for the recurrent unit that Marian's decoders may have in place of self-attention."""
BART_NORMS: Mapping[str, str] = {
    "after_attention": "self_attn_layer_norm",
    "after_self": "self_attn_layer_norm",
    "after_cross": "encoder_attn_layer_norm",
    "after_feed_forward": "final_layer_norm",
}
"""BART's names of the norms of a layer."""
BART_OUTSIDE: Mapping[str, str] = {
    "norm": "layer_norm",
    "embedding_norm": "layernorm_embedding",
    "positions.table": "embed_positions",
}
"""BART's names of what is outside the layers."""
BIAS = "final_logits_bias"
"""BART's name of the bias of the output layer, which may be missing, and is then 0."""
IGNORED = re.compile(
    r"(encoder|decoder)\.(version|embed_positions\.(weights|_float_tensor))"
    r"|decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"
)
"""Ends of the names of tensors that old files hold and nothing reads."""


@dataclass(frozen=True)
class Entry:
    """One tensor here, and what it is there."""

    own: str
    names: tuple[str, ...]
    """Names of its parts, which follow one another along the first axis."""
    shape: tuple[int, ...]
    """Shape of each part."""
    aliases: tuple[str, ...] = ()
    """Other names under which the same tensor may stand."""


def to_state(tensors: Mapping[str, Tensor], description: Description) -> dict[str, Tensor]:
    """Return the weights of the model that `description` describes, named as `training/checkpoint.py::own_tensors` does.

    `tensors` may be read one by one, as they are asked for. Numbers of half precision become float32, others stay as they are.
    Raises ImportModelError, which names the tensor, if one is missing, unexpected or of another shape, or if two that must be the
    same are not.
    """
    every = _entries(description)
    _check_names(every, tensors, description)
    state = {entry.own: _read(entry, tensors) for entry in every}
    return state | _buffers(description)


def from_state(state: Mapping[str, Tensor], description: Description) -> dict[str, Tensor]:
    """Return what `to_state` was given, by the names of Hugging Face, each tensor under its first name only."""
    tensors: dict[str, Tensor] = {}
    for entry in _entries(description):
        parts = state[entry.own].detach().chunk(len(entry.names))
        for name, part in zip(entry.names, parts, strict=True):
            whole = part.reshape(entry.shape)
            tensors[name] = whole.contiguous() if len(entry.names) == 1 else whole.clone()
    for name in _tables(description):
        tensors[name] = sinusoid_table(description.table_rows, description.settings.width)
    return tensors


def sinusoid_table(rows: int, width: int) -> Float[Tensor, "rows width"]:
    """Return the table that Hugging Face computes for Marian and Pegasus, to the last bit.

    `layers/positions.py::sinusoids_in_halves` is the same but for the rounding of a few numbers.

    >>> sinusoid_table(1, 4).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    pairs = np.power(10000, 2 * (np.arange(width) // 2) / width)
    angles = np.arange(rows)[:, None] / pairs
    halves = np.concatenate([np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])], 1)
    return torch.from_numpy(halves.astype(np.float32))


def _entries(description: Description) -> list[Entry]:
    """Return all weights of a model, in the order in which it holds them."""
    return [
        Entry(name, names, (1, *shape) if names == (BIAS,) else (shape[0] // len(names), *shape[1:]), aliases)
        for name, shape in _shapes(description).items()
        for names, aliases in [_names(name, description)]
    ]


def _shapes(description: Description) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all parameters of the model, which is built without memory."""
    with without_memory():
        sizes = Vocabularies(description.source_size, description.target_size, description.shared)
        model = build_model(description.settings, sizes)
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def _names(own: str, description: Description) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names there of the parts of a weight, and other names of the same."""
    side, *inner = own.split(".")
    if inner[0] == "embedding" or own == "decoder.head.weight":
        first, *others = _embedding_names(side, inner[0], description)
        return (first,), tuple(others)
    if description.family in BARTS:
        return tuple(_bart_names(side, inner)), ()
    return tuple(_t5_names(side, inner, description.settings.gated)), ()


def _embedding_names(side: str, part: str, description: Description) -> Iterator[str]:
    """Yield the names of an embedding or of an output layer with weights of its own."""
    if part == "head":
        yield HEAD
        return
    bart = description.family in BARTS
    prefix = "model." if bart else ""
    tied = description.settings.tied
    if tied in ("all", "embeddings"):
        yield f"{prefix}shared.weight"
        yield f"{prefix}encoder.embed_tokens.weight"
        yield f"{prefix}decoder.embed_tokens.weight"
    else:
        yield f"{prefix}{side}.embed_tokens.weight"
    if tied == "all" or (tied == "target" and side == "decoder"):
        yield HEAD


def _bart_names(side: str, inner: list[str]) -> Iterator[str]:
    """Yield BART's names of the parts of a weight.

    >>> list(_bart_names("encoder", ["layers", "2", "attention", "output", "bias"]))
    ['model.encoder.layers.2.self_attn.out_proj.bias']
    """
    if inner == ["head", "bias"]:
        yield BIAS
        return
    if inner[0] != "layers":
        yield f"model.{side}.{BART_OUTSIDE['.'.join(inner[:-1])]}.{inner[-1]}"
        return
    _, number, part, which, kind = inner
    place = f"model.{side}.layers.{number}"
    if part == "feed_forward":
        yield f"{place}.{'fc1' if which == 'inner' else 'fc2'}.{kind}"
    elif which == "norm":
        yield f"{place}.{BART_NORMS[part]}.{kind}"
    else:
        attention = "encoder_attn" if part == "cross_attention" else "self_attn"
        for matrix in BART_LINEARS[which]:
            yield f"{place}.{attention}.{matrix}.{kind}"


def _t5_names(side: str, inner: list[str], gated: bool) -> Iterator[str]:
    """Yield T5's names of the parts of a weight.

    >>> list(_t5_names("decoder", ["layers", "2", "after_feed_forward", "norm", "weight"], False))
    ['decoder.block.2.layer.2.layer_norm.weight']
    """
    if inner[0] == "norm":
        yield f"{side}.final_layer_norm.{inner[1]}"
        return
    _, number, part, which, kind = inner
    last = 1 if side == "encoder" else 2
    index = {"feed_forward": last, "after_feed_forward": last, "cross_attention": 1, "after_cross": 1}.get(part, 0)
    place = f"{side}.block.{number}.layer.{index}"
    if which == "norm":
        yield f"{place}.layer_norm.{kind}"
    elif part == "feed_forward":
        matrices = ("wo",) if which == "outer" else ("wi_0", "wi_1") if gated else ("wi",)
        for matrix in matrices:
            yield f"{place}.DenseReluDense.{matrix}.{kind}"
    elif which == "relative":
        yield f"{place}.SelfAttention.relative_attention_bias.weight"
    else:
        for matrix in LINEARS[which]:
            yield f"{place}.{'EncDecAttention' if index else 'SelfAttention'}.{matrix}.{kind}"


def _tables(description: Description) -> list[str]:
    """Return the names of the tables of positions that the files hold although they are computed here."""
    return [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder") if description.table_rows]


def _buffers(description: Description) -> dict[str, Tensor]:
    """Return what a model keeps besides its weights: where T5's buckets of distances start."""
    if description.settings.relative != "t5_shared":
        return {}
    starts = {"encoder.layers.0.attention": T5(1, causal=False), "decoder.layers.0.self_attention": T5(1, causal=True)}
    return {f"{name}.relative.starts": relative.get_buffer("starts") for name, relative in starts.items()}


def _check_names(every: list[Entry], tensors: Mapping[str, Tensor], description: Description) -> None:
    """Raise ImportModelError for the first tensor that is missing or unexpected."""
    known = {*_tables(description)}
    for entry in every:
        known |= {*entry.names, *entry.aliases}
        one_of = (*entry.names, *entry.aliases) if entry.aliases else ()
        missing = [name for name in entry.names if name not in tensors and name != BIAS]
        if missing and not any(name in tensors for name in one_of):
            raise ImportModelError(
                f"the model's weights lack `{missing[0]}`, which its configuration asks for; copy the whole folder again"
            )
    unexpected = [name for name in tensors if name not in known and not IGNORED.search(name)]
    if unexpected:
        raise ImportModelError(
            f"the model's weights hold `{unexpected[0]}`, which nothing in a `{description.family}` model of its configuration "
            "reads; do they belong together?"
        )


def _read(entry: Entry, tensors: Mapping[str, Tensor]) -> Tensor:
    """Read the parts of a weight and join them. Raises ImportModelError for wrong shapes and duplicates that differ."""
    if entry.names == (BIAS,) and BIAS not in tensors:
        return torch.zeros(entry.shape[1])
    if not entry.aliases:
        parts = [_part(name, tensors, entry.shape) for name in entry.names]
        return parts[0].flatten() if entry.names == (BIAS,) else parts[0] if len(parts) == 1 else torch.cat(parts)
    first, *others = [name for name in (*entry.names, *entry.aliases) if name in tensors]
    tensor = _part(first, tensors, entry.shape)
    for name in others:
        if not torch.equal(_part(name, tensors, entry.shape), tensor):
            raise ImportModelError(
                f"`{name}` and `{first}` differ, but the model's configuration says that they are one tensor; set "
                "`tie_word_embeddings` in its config.json as the model was trained"
            )
    return tensor


def _part(name: str, tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> Tensor:
    """Read one tensor, in single precision at least."""
    tensor = tensors[name]
    if tuple(tensor.shape) != shape:
        found, wanted = (" x ".join(map(str, size)) or "one number" for size in (tensor.shape, shape))
        raise ImportModelError(
            f"`{name}` is of the shape {found}, but the model's configuration makes it {wanted}; do they belong together?"
        )
    if not tensor.is_floating_point() or tensor.itemsize == 1:
        raise ImportModelError(
            f"`{name}` is of the type {str(tensor.dtype).removeprefix('torch.')}, so the weights are quantised; import the "
            "model that they were made from"
        )
    if tensor.isnan().any() or (name != BIAS and tensor.isinf().any()):
        raise ImportModelError(
            f"`{name}` has values that are infinite or no numbers, so the weights are damaged; download it again"
        )
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
