"""What a configuration describes, and what it cannot."""

from typing import Any

import pytest
import torch
from tests.pretrained.originals import VARIANTS, original_of, saved

from dragoman.errors import ImportModelError
from dragoman.pretrained.families import describe
from dragoman.special_ids import SpecialIds

MARIAN: dict[str, Any] = {
    "model_type": "marian",
    "architectures": ["MarianMTModel"],
    "vocab_size": 65001,
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "activation_function": "swish",
    "scale_embedding": True,
    "pad_token_id": 65000,
    "eos_token_id": 0,
}
T5: dict[str, Any] = {
    "model_type": "t5",
    "vocab_size": 32128,
    "d_model": 768,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 12,
    "num_heads": 12,
}


def test_the_configuration_of_opus_mt_is_understood() -> None:
    found = describe(MARIAN)
    settings = found.settings
    assert (found.family, found.source_size, found.target_size, found.shared) == ("marian", 65001, 65001, True)
    assert found.special == SpecialIds(pad=65000, bos=65000, eos=0, unk=1, mask=65000)
    assert (settings.norm, settings.activation, settings.positions) == ("post", "swish", "sinusoidal_halves")
    assert (settings.tied, settings.scaling, settings.output_bias) == ("all", "embeddings", True)
    assert settings.bound is None


def test_two_vocabularies_have_two_sizes() -> None:
    found = describe({**MARIAN, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 65100})
    assert (found.source_size, found.target_size, found.shared, found.settings.tied) == (65001, 65100, False, "target")


def test_both_forms_of_t5_are_told_apart() -> None:
    first = describe(T5).settings
    assert (first.tied, first.scaling, first.gated, first.activation) == ("all", "output", False, "relu")
    assert (first.head_size, first.biases, first.norm_kind, first.relative) == (None, False, "rms", "t5_shared")
    second = describe({**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_kv": 32}).settings
    assert (second.tied, second.scaling, second.gated, second.activation) == ("embeddings", "none", True, "gelu_tanh")
    assert second.head_size == 32


def test_weights_tell_whether_an_output_layer_is_its_own() -> None:
    config = {**T5, "model_type": "mt5"}
    assert describe(config).settings.tied == "embeddings"
    assert describe(config, {}).settings.tied == "all"
    assert describe(config, {"lm_head.weight": torch.zeros(1)}).settings.tied == "embeddings"


@pytest.mark.parametrize("name", VARIANTS)
def test_special_ids_are_those_of_the_configuration(name: str) -> None:
    model = original_of(name)
    found = describe(model.config.to_dict(), saved(model)).special
    config = model.config
    assert (found.pad, found.eos) == (config.pad_token_id, config.eos_token_id)
    assert found.bos == config.decoder_start_token_id


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "marien"}, r"`marien` .*did you mean `marian`"),
        ({"model_type": "llama"}, r"`llama`.*known: marian, pegasus"),
        ({"model_type": None}, r"`model_type`.*known: marian"),
        ({"architectures": ["MarianForCausalLM"]}, r"`MarianForCausalLM`.*not a whole encoder-decoder"),
        ({"architectures": 5.5}, r"`architectures` of config.json is 5.5; it must be a list"),
        ({"architectures": "MarianMTModel"}, r"`architectures` of config.json is 'MarianMTModel'; it must be a list"),
        ({"is_encoder_decoder": False, "architectures": None}, r"not a whole encoder-decoder"),
        ({"quantization_config": {"bits": 8}}, r"quantised \(`quantization_config`\)"),
        ({"activation_function": "laplace"}, r"`activation_function: laplace`.*known: relu"),
        ({"decoder_attention_heads": 4}, r"`encoder_attention_heads: 8` and `decoder_attention_heads: 4`"),
        ({"d_model": "big"}, r"`d_model: big`.*number"),
        ({"d_model": None}, r"`d_model: None`"),
        ({"encoder_layers": 5000}, r"encoder_layers"),
        ({"pad_token_id": 65001}, r"`pad_token_id: 65001`.*65001"),
        ({"eos_token_id": [0, 1]}, r"`eos_token_id: \[0, 1\]`"),
    ],
)
def test_what_cannot_be_imported_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ImportModelError, match=named):
        describe({**MARIAN, **changes})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "umt5"}, r"`umt5`.*did you mean `mt5`"),
        ({"relative_attention_num_buckets": 64}, r"`relative_attention_num_buckets: 64`.*32"),
        ({"relative_attention_max_distance": 64}, r"`relative_attention_max_distance: 64`.*128"),
        ({"layer_norm_epsilon": 1e-5}, r"`layer_norm_epsilon: 1e-05`"),
        ({"feed_forward_proj": "gated-mish"}, r"`feed_forward_proj: mish`"),
    ],
)
def test_other_forms_of_t5_are_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ImportModelError, match=named):
        describe({**T5, **changes})


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("LlamaForCausalLM", "a decoder alone"),
        ("GPT2LMHeadModel", "a decoder alone"),
        ("BertModel", "an encoder alone"),
        ("XLMRobertaModel", "an encoder alone"),
        ("BertForMaskedLM", "an encoder"),
    ],
)
def test_models_of_one_side_are_named(name: str, what: str) -> None:
    with pytest.raises(ImportModelError, match=rf"the model is {what}"):
        describe({"model_type": "other", "architectures": [name]})
