"""A model in the form of Hugging Face computes the same: its weights, its configuration, how it writes."""

from typing import Any, get_args

import pytest
import torch
from tests.laws.architectures import transformer
from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration

from dragoman.decoding.settings import DecodingSettings
from dragoman.laws.examples import VOCABULARY, batch, model_of
from dragoman.layers import positions
from dragoman.layers.feed_forward import ActivationName
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.pretrained import huggingface_weights
from dragoman.pretrained.huggingface_weights import (
    NEVER,
    TYPICAL_LENGTH,
    config_of,
    generation_config_of,
    layout_of,
    sines_first,
    tensors_of,
)
from dragoman.special_ids import SPECIAL_IDS

KINDS = {
    "marian": (MarianConfig, MarianMTModel),
    "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
}


def sinusoids(offset: int, count: int, width: int, **_: Any) -> torch.Tensor:
    """Return the sinusoids in float64, rounded once, as transformers computes them."""
    places = torch.arange(offset, offset + count).double()
    pairs = torch.arange(0, width, 2).double()
    angles = places[:, None] / 10000 ** (pairs / width)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width].float()


TIED = get_args(TransformerSettings.model_fields["tied"].annotation)
MODELS: list[dict[str, Any]] = [
    *({"norm": norm, "tied": tied} for norm in ("pre", "post") for tied in TIED),
    *({"norm": norm, "activation": name} for norm in ("pre", "post") for name in get_args(ActivationName)),
    *({"self_score": score, "cross_score": score} for score in ("dot", "general", "scaled_general")),
    *({"tied": tied, "output_bias": True} for tied in ("all", "none")),
    {"heads": 4, "encoder_layers": 1, "feed_forward": 5},
]


@pytest.mark.parametrize("given", MODELS, ids=str)
def test_logits_are_equal_in_float64(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (positions, huggingface_weights):
        monkeypatch.setattr(module, "sinusoids", sinusoids)
    settings = transformer(**{"decoder_layers": 3, **given})
    own = model_of(settings).double()
    layout = layout_of(settings, VOCABULARY, VOCABULARY)
    config, kind = KINDS[layout.form]
    other = kind(config(**config_of(settings, layout, SPECIAL_IDS))).eval()
    missing, unexpected = other.load_state_dict(tensors_of(own, settings, layout), strict=False)
    tables = {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
    tying = {"lm_head.weight", *(f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder"))}
    assert not unexpected and set(missing) <= tables | (tying if other.config.tie_word_embeddings else set())
    other.tie_weights()
    other.double()
    pairs = batch([9, 4, 1], [3, 7, 6])
    with torch.no_grad():
        wanted = own(pairs.source, pairs.inputs).logits[pairs.real]
        found = other(
            input_ids=pairs.source.ids,
            attention_mask=pairs.source.mask.long(),
            decoder_input_ids=pairs.inputs + layout.offset,
        ).logits[pairs.real]
    scale = wanted.abs().max()
    assert (found[:, layout.offset :] - wanted).abs().max() / scale < 1e-6
    assert found.shape[1] == layout.rows
    assert (found[:, : layout.offset] < NEVER / 2).all()


def test_an_odd_width_keeps_every_feature() -> None:
    assert sines_first(5).tolist() == [0, 2, 4, 1, 3]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"method": "greedy"}, {"num_beams": 1, "max_new_tokens": 512}),
        ({"beam": 4, "length_penalty": 1.4}, {"num_beams": 4, "length_penalty": 1.12, "early_stopping": "never"}),
        ({"beam": 4, "length_normalisation": "average", "length_penalty": 0.6}, {"length_penalty": 0.6}),
        (
            {"beam": 4, "stopping": "full", "length_normalisation": "none"},
            {"length_penalty": 0.0, "early_stopping": True},
        ),
        ({"maximum_length": 30, "minimum_length": 2}, {"max_new_tokens": 31, "min_new_tokens": 2}),
        ({"no_repeat_ngram": 3}, {"no_repeat_ngram_size": 3}),
        ({"method": "sample", "top_k": 9, "temperature": 0.5}, {"do_sample": True, "top_k": 9, "temperature": 0.5}),
    ],
    ids=str,
)
def test_decoding_settings_are_kept_as_far_as_they_exist(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    layout = layout_of(transformer(tied="target"), 7, 9)
    found = generation_config_of(DecodingSettings(**given), layout, SPECIAL_IDS)
    assert {name: found[name] for name in wanted} == wanted
    assert found["bad_words_ids"] == [[7], [8]] and found["decoder_start_token_id"] == 8 and found["eos_token_id"] == 9


def test_one_more_token_counts_as_much_at_a_typical_length() -> None:
    own = DecodingSettings(beam=4, length_penalty=1.4)
    penalty = generation_config_of(own, layout_of(transformer(tied="target"), 7, 9), SPECIAL_IDS)["length_penalty"]
    gained = own.normalise(-1.0, TYPICAL_LENGTH + 1) / own.normalise(-1.0, TYPICAL_LENGTH)
    assert ((TYPICAL_LENGTH + 1) / TYPICAL_LENGTH) ** -penalty == pytest.approx(gained, abs=1e-3)
