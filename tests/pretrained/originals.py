"""Small random models of every family, as transformers itself builds, computes and saves them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.interfaces import Padded
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.pretrained.families import Description, describe
from dragoman.pretrained.weights import to_state
from dragoman.special_ids import SpecialIds
from dragoman.training.checkpoint import own_tensors

transformers = pytest.importorskip("transformers", reason="compares with transformers, which is not installed")

VOCABULARY = 40
LENGTHS = (9, 4, 7, 1, 6)
PREFIXES = (5, 8, 1, 6, 3)
BART: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
}
MARIAN: dict[str, Any] = {
    **BART,
    "pad_token_id": VOCABULARY - 1,
    "decoder_start_token_id": VOCABULARY - 1,
    "eos_token_id": 0,
    "bos_token_id": 0,
    "forced_eos_token_id": 0,
    "scale_embedding": True,
    "activation_function": "swish",
}
T5: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "d_kv": 4,
    "d_ff": 24,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}
OWN_HEAD = "lm_head"
"""Entry of a variant that gives the output layer weights of its own."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "marian": ("Marian", MARIAN),
    "marian, odd, relu, unscaled": (
        "Marian",
        {**MARIAN, "d_model": 15, "encoder_attention_heads": 3, "decoder_attention_heads": 3}
        | {"activation_function": "relu", "scale_embedding": False},
    ),
    "marian, two vocabularies": (
        "Marian",
        {**MARIAN, "share_encoder_decoder_embeddings": False, "vocab_size": 45, "decoder_vocab_size": VOCABULARY},
    ),
    "marian, two vocabularies, own head": (
        "Marian",
        {**MARIAN, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": VOCABULARY}
        | {"tie_word_embeddings": False},
    ),
    "m2m_100": ("M2M100", {**BART}),
    "mbart": ("MBart", {**BART, "scale_embedding": True, "activation_function": "relu", "decoder_start_token_id": 2}),
    "mbart, gelu": ("MBart", {**BART, "decoder_start_token_id": 2}),
    "bart": ("Bart", {**BART, "activation_function": "gelu"}),
    "pegasus": ("Pegasus", {**BART, "scale_embedding": True, "activation_function": "relu"}),
    "pegasus, gelu_new, own head": (
        "Pegasus",
        {**BART, "activation_function": "gelu_new", "tie_word_embeddings": False},
    ),
    "t5": ("T5", T5),
    "t5, wide heads": ("T5", {**T5, "d_kv": 6, "num_heads": 3}),
    "t5, version 1.1": ("T5", {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, OWN_HEAD: True}),
    "t5, gated silu": ("T5", {**T5, "feed_forward_proj": "gated-silu"}),
    "mt5": ("MT5", {**T5, "num_heads": 6, OWN_HEAD: True}),
}
"""Families and forms: the beginning of transformers' class names, and a configuration."""


def original_of(name: str) -> Any:
    """Return a random model as transformers builds it: no weight, bias or norm has the value that it starts with."""
    family, table = VARIANTS[name]
    torch.manual_seed(1)
    ending = "MTModel" if family == "Marian" else "ForConditionalGeneration"
    table = {**table}
    own_head = table.pop(OWN_HEAD, False)
    model = getattr(transformers, f"{family}{ending}")(getattr(transformers, f"{family}Config")(**table)).eval()
    if table.get("tie_word_embeddings") is False and hasattr(getattr(model, "model", None), "shared"):
        for side in (model.model.encoder, model.model.decoder):  # as in the files that such models are distributed in
            side.embed_tokens.weight = model.model.shared.weight
    if own_head:
        model.lm_head.weight = nn.Parameter(torch.empty_like(model.lm_head.weight))
    for tensor_name, tensor in _random(model):
        noise = torch.randn(tensor.shape)
        gain = "norm" in tensor_name and tensor_name.endswith("weight")
        tensor.copy_(1 + 0.3 * noise if gain else 0.5 * noise)
    return model


@torch.no_grad()
def _random(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model that training changes, and the bias of its output layer."""
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            yield name, parameter.data
    if hasattr(model, "final_logits_bias"):
        yield "final_logits_bias", model.final_logits_bias


def saved(model: Any) -> dict[str, Tensor]:
    """Return the tensors that transformers saves, each once; tables that it never saves are left out."""
    ignored = set(getattr(model, "_keys_to_ignore_on_save", None) or ())
    seen: set[int] = set()
    tensors = {}
    for name, tensor in model.state_dict().items():
        if name not in ignored and tensor.data_ptr() not in seen:
            tensors[name] = tensor
            seen.add(tensor.data_ptr())
    return tensors


def imported(model: Any, tensors: dict[str, Tensor] | None = None) -> tuple[Seq2Seq, Description]:
    """Return the same model here, and its description."""
    tensors = saved(model) if tensors is None else tensors
    description = describe(model.config.to_dict(), tensors)
    own = build_model(description.settings, description.vocabularies)
    assert isinstance(own, Seq2Seq)
    state = to_state(tensors, description)
    named = own_tensors(own)
    assert set(named) == set(state)
    with torch.no_grad():
        for name, tensor in named.items():
            tensor.copy_(state[name])
    return own.eval(), description


def sentences(description: Description, seed: int = 3) -> tuple[Padded, Padded]:
    """Return random sources that end with EOS, and random prefixes that start as the decoder does, of different lengths."""
    generator = torch.Generator().manual_seed(seed)
    special = description.special
    sides = []
    for size, lengths in ((description.source_size, LENGTHS), (description.target_size, PREFIXES)):
        usable = torch.tensor([one for one in range(size) if one not in special.all])
        ids = usable[torch.randint(len(usable), (len(lengths), max(lengths)), generator=generator)]
        places, ends = torch.arange(max(lengths)), torch.tensor(lengths)[:, None]
        if not sides:
            ids = ids.masked_fill(places == ends - 1, special.eos)
        else:
            ids[:, 0] = special.bos
        mask = places < ends
        sides.append(Padded(ids.masked_fill(~mask, special.pad), mask))
    return sides[0], sides[1]


@torch.no_grad()
def logits_of(model: Any, source: Padded, prefixes: Tensor) -> Tensor:
    """Return what the original predicts after each prefix."""
    output = model(input_ids=source.ids, attention_mask=source.mask.long(), decoder_input_ids=prefixes, use_cache=False)
    logits: Tensor = output.logits
    return logits


def greedy(predict: Callable[[Tensor], Tensor], special: SpecialIds, rows: int, *, steps: int = 8) -> list[list[int]]:
    """Return the likeliest tokens one after the other, but never padding, given what predicts the next from all before."""
    tokens = torch.full((rows, 1), special.bos)
    for _ in range(steps):
        logits = predict(tokens)[:, -1].index_fill(-1, torch.tensor([special.pad]), -torch.inf)
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], 1)
    return [[int(token) for token in row] for row in tokens]
