"""Models of every family compute here what they compute in transformers, and their weights come back byte for byte."""

from typing import Any

import pytest
import torch
from tests.pretrained.originals import VARIANTS, greedy, imported, logits_of, original_of, saved, sentences
from tests.slow import some
from torch import Tensor

from dragoman.errors import ImportModelError
from dragoman.layers.positions import sinusoids_in_halves, sinusoids_of_m2m
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.pretrained.families import describe
from dragoman.pretrained.weights import from_state, sinusoid_table, to_state

EVERY = pytest.mark.parametrize("name", some(VARIANTS, list(VARIANTS)[::2]))
PRECISIONS = pytest.mark.parametrize("precision", some([torch.float64, torch.float32], [torch.float64]))


def tolerance(precision: torch.dtype, logits: Tensor) -> float:
    """Return how far logits may be apart."""
    return 1e-6 if precision == torch.float64 else 1e-5 * float(logits.abs().max())


def both(name: str, precision: torch.dtype = torch.float32) -> tuple[Any, Seq2Seq, Any]:
    """Return an original, the same model here, and its description."""
    model = original_of(name)
    own, description = imported(model)
    return model.to(precision), own.to(precision), description


@EVERY
@PRECISIONS
@torch.no_grad()
def test_logits_are_the_originals_all_at_once(name: str, precision: torch.dtype) -> None:
    model, own, description = both(name, precision)
    source, prefixes = sentences(description)
    expected, found = logits_of(model, source, prefixes.ids), own(source, prefixes.ids).logits
    assert found.dtype == precision and expected.std() > 0.1
    real = prefixes.mask
    assert (found - expected)[real].abs().max() < tolerance(precision, expected[real])


@EVERY
@PRECISIONS
@torch.no_grad()
def test_logits_are_the_originals_position_by_position(name: str, precision: torch.dtype) -> None:
    model, own, description = both(name, precision)
    source, prefixes = sentences(description)
    expected = logits_of(model, source, prefixes.ids)
    state, found = own.decoder.start(own.encoder(source)), []
    for tokens in prefixes.ids.split(1, 1):
        output, state = own.decoder(tokens, state)
        found.append(output.logits)
    difference = (torch.cat(found, 1) - expected)[prefixes.mask].abs().max()
    assert difference < tolerance(precision, expected[prefixes.mask])


@EVERY
@torch.no_grad()
def test_encoder_states_are_the_originals(name: str) -> None:
    model, own, description = both(name, torch.float64)
    source, _ = sentences(description)
    expected = model.get_encoder()(input_ids=source.ids, attention_mask=source.mask.long()).last_hidden_state
    assert (own.encoder(source).states - expected)[source.mask].abs().max() < 1e-6


@EVERY
@torch.no_grad()
def test_the_likeliest_tokens_are_the_originals(name: str) -> None:
    model, own, description = both(name)
    source, _ = sentences(description)
    special, rows = description.special, len(source.ids)
    expected = greedy(lambda tokens: logits_of(model, source, tokens), special, rows)
    assert greedy(lambda tokens: own(source, tokens).logits, special, rows) == expected


@pytest.mark.parametrize("name", ["marian", "pegasus", "m2m_100", "t5"])
@torch.no_grad()
def test_long_sentences_have_the_originals_positions(name: str) -> None:
    model, own, description = both(name, torch.float64)
    source, _ = sentences(description)
    prefixes = torch.full((len(source.ids), 60), 7)
    expected = logits_of(model, source, prefixes)
    assert (own(source, prefixes).logits - expected).abs().max() < 1e-6


@EVERY
def test_weights_come_back_byte_for_byte(name: str) -> None:
    model = original_of(name)
    tensors = saved(model)
    description = describe(model.config.to_dict(), tensors)
    back = from_state(to_state(tensors, description), description)
    assert set(back) == set(tensors)
    for key, tensor in tensors.items():
        assert back[key].dtype == tensor.dtype and torch.equal(back[key], tensor), key
        assert back[key].is_contiguous()


@EVERY
def test_weights_of_a_model_here_are_given_back_too(name: str) -> None:
    """Those that `state_dict` gives, where tied ones stand several times."""
    model = original_of(name)
    own, description = imported(model)
    assert all(
        torch.equal(tensor, saved(model)[key]) for key, tensor in from_state(own.state_dict(), description).items()
    )


def test_half_precision_becomes_single() -> None:
    model = original_of("marian")
    tensors = {key: tensor.half() for key, tensor in saved(model).items()}
    description = describe(model.config.to_dict(), tensors)
    state = to_state(tensors, description)
    assert {tensor.dtype for tensor in state.values()} == {torch.float32}
    assert all(torch.equal(tensor.half(), tensors[key]) for key, tensor in from_state(state, description).items())


@pytest.mark.parametrize("name", ["marian", "m2m_100", "mbart", "pegasus", "t5"])
def test_tied_duplicates_are_read_once_whatever_their_name(name: str) -> None:
    model = original_of(name)
    tensors, every = saved(model), model.state_dict()
    description = describe(model.config.to_dict(), tensors)
    shared = next(key for key in tensors if key.endswith("shared.weight"))
    prefix = shared.removesuffix("shared.weight")
    others = [f"{prefix}encoder.embed_tokens.weight", f"{prefix}decoder.embed_tokens.weight", "lm_head.weight"]
    expected = to_state(tensors, description)
    for kept in ([shared, *others], others, others[2:]):
        given = {key: tensor for key, tensor in tensors.items() if key != shared} | {key: every[key] for key in kept}
        found = to_state(given, description)
        assert all(torch.equal(found[key], tensor) for key, tensor in expected.items())
    damaged = {**tensors, others[1]: every[shared] + 1}
    with pytest.raises(ImportModelError, match=rf"`{others[1]}` and `{shared}` differ"):
        to_state(damaged, description)


@pytest.mark.parametrize(
    "name",
    some(VARIANTS, ("marian",)),
)
def test_a_missing_an_unexpected_and_a_wrong_tensor_are_named(name: str) -> None:
    model = original_of(name)
    tensors = saved(model)
    description = describe(model.config.to_dict(), tensors)
    for key, tensor in tensors.items():
        if key == "final_logits_bias" or key.endswith("embed_positions.weight"):
            continue
        with pytest.raises(ImportModelError, match=rf"lack `{key}`"):
            to_state({other: value for other, value in tensors.items() if other != key}, description)
        with pytest.raises(ImportModelError, match=rf"`{key}` is of the shape .* makes it "):
            to_state({**tensors, key: tensor[:-1]}, description)
    with pytest.raises(ImportModelError, match=r"hold `model\.extra\.weight`, which nothing"):
        to_state({**tensors, "model.extra.weight": torch.zeros(2)}, description)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_quantised_weights_are_refused(dtype: torch.dtype) -> None:
    model = original_of("m2m_100")
    tensors = saved(model)
    tensors["model.encoder.layers.0.fc1.weight"] = tensors["model.encoder.layers.0.fc1.weight"].to(dtype)
    with pytest.raises(
        ImportModelError, match=r"`model\.encoder\.layers\.0\.fc1\.weight` is of the type (int8|float8)"
    ):
        to_state(tensors, describe(model.config.to_dict(), tensors))


def test_what_old_files_hold_for_nothing_is_left_out() -> None:
    model = original_of("m2m_100")
    tensors = saved(model)
    description = describe(model.config.to_dict(), tensors)
    old = {
        **tensors,
        "model.encoder.embed_positions.weights": torch.zeros(3, 16),
        "model.encoder.version": torch.ones(1),
    }
    assert set(to_state(old, description)) == set(to_state(tensors, description))


def test_a_missing_output_bias_is_zero() -> None:
    model = original_of("marian")
    tensors = saved(model)
    del tensors["final_logits_bias"]
    state = to_state(tensors, describe(model.config.to_dict(), tensors))
    assert torch.equal(state["decoder.head.bias"], torch.zeros(40))


@torch.no_grad()
def test_rounded_positions_in_old_files_are_used_as_they_are() -> None:
    model = original_of("marian")
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.weight.copy_(side.embed_positions.weight.half())
    tables = {key: tensor for key, tensor in model.state_dict().items() if "embed_positions" in key}
    tensors = saved(model) | tables
    own, description = imported(model, tensors)
    assert description.settings.positions == "fixed" and description.settings.max_positions == 64
    source, prefixes = sentences(description)
    expected = logits_of(model, source, prefixes.ids)
    assert (own(source, prefixes.ids).logits - expected)[prefixes.mask].abs().max() < 1e-5 * expected.abs().max()
    back = from_state(to_state(tensors, description), description)
    assert set(back) == set(tensors) and all(torch.equal(back[key], table) for key, table in tables.items())


def test_tables_of_sinusoids_are_the_originals_to_the_last_bit() -> None:
    model = original_of("pegasus")
    assert torch.equal(sinusoid_table(64, 16), model.model.encoder.embed_positions.weight)


@pytest.mark.parametrize("width", [512, 15])
def test_positions_far_from_the_start_are_the_originals(width: int) -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    fairseq = M2M100SinusoidalPositionalEmbedding.get_embedding(1026, width, 1)[2:]
    assert torch.equal(sinusoids_of_m2m(0, 1024, width), fairseq)
    marian = MarianSinusoidalPositionalEmbedding(1024, width).create_weight()
    assert torch.equal(sinusoid_table(1024, width), marian)
    assert (sinusoids_in_halves(0, 1024, width) - marian).abs().max() < 1e-7


def test_marians_own_positions_may_be_asked_for() -> None:
    model = original_of("marian")
    tensors = saved(model)
    config = {**model.config.to_dict(), "positions": "marian"}
    description = describe(config, tensors)
    assert description.settings.positions == "marian"
    own = build_model(description.settings, description.vocabularies)
    assert set(to_state(tensors, description)) == set(own.state_dict()) - {
        "decoder.embedding.weight",
        "decoder.head.weight",
    }
