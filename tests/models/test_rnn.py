"""Recurrent encoder-decoders. Their equations are tested in `tests/reference`, their laws in `tests/laws`."""

import pytest
import torch

from dragoman.errors import InputError, SettingsError
from dragoman.laws.examples import source, target
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.settings import parse

SIZES = {"embedding": 6, "hidden": 8}


def model_of(**settings: object) -> Seq2Seq:
    return build_rnn(RecurrentSettings(**{**SIZES, **settings}), Vocabularies(13, 17)).eval()


@pytest.mark.parametrize("decoder", ["plain", "bahdanau", "luong"])
def test_logits_are_over_the_target_vocabulary(decoder: str) -> None:
    assert model_of(decoder=decoder)(source([5, 3]), target(2, 4)).logits.shape == (2, 4, 17)


@pytest.mark.parametrize("decoder", ["bahdanau", "luong"])
def test_the_alignment_matrix_is_target_by_source(decoder: str) -> None:
    output = model_of(decoder=decoder)(source([5, 3]), target(2, 4), need_weights=True)
    assert output.attention.shape == (2, 1, 1, 4, 5)


@pytest.mark.parametrize("decoder", ["plain", "bahdanau", "luong"])
def test_a_tied_model_shares_target_embedding_and_output(decoder: str) -> None:
    decoder_module = model_of(decoder=decoder, tied=True).decoder
    assert decoder_module.head.weight is decoder_module.embedding.weight
    untied = model_of(decoder=decoder).decoder
    assert untied.head.weight is not untied.embedding.weight


def test_encoder_outputs_have_the_size_of_the_decoder_s_state_by_default() -> None:
    assert RecurrentSettings(hidden=8).encoder_output_size == 8
    assert RecurrentSettings(hidden=8, bidirectional=False).encoder_output_size == 8
    assert RecurrentSettings(hidden=8, encoder_hidden=3).encoder_output_size == 6


def test_an_odd_size_for_two_directions_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"`model\.hidden` must be even for a bidirectional encoder"):
        parse(RecurrentSettings, {"hidden": 9})
    assert parse(RecurrentSettings, {"hidden": 9, "encoder_hidden": 4}).encoder_output_size == 8


def test_a_score_that_multiplies_different_sizes_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"queries of size 8 by keys of size 6"):
        model_of(score="dot", encoder_hidden=3)


def test_location_bounds_the_source_and_nothing_else_does() -> None:
    model = model_of(score="location", max_positions=4)
    assert (model.source_positions, model.target_positions) == (4, None)
    with pytest.raises(InputError, match=r"a sentence of 5 tokens is longer than the 4 positions"):
        model(source([5]), target(1, 2))
    assert model_of().source_positions is None
    assert model_of(decoder="plain", score="location").source_positions is None


def test_dropout_is_for_training_only() -> None:
    model = model_of(dropout=0.5)
    sentences, prefixes = source([5, 3]), target(2, 4)
    assert torch.equal(model(sentences, prefixes).logits, model(sentences, prefixes).logits)
    model.train()
    assert not torch.equal(model(sentences, prefixes).logits, model(sentences, prefixes).logits)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"decoder": "plain", "hard": {"training": "gumbel"}}, r"`model\.hard`.*`model\.decoder: plain`.*choose"),
        ({"decoder": "plain", "window": {"kind": "monotonic"}}, r"`model\.window`.*`model\.decoder: plain`.*choose"),
        ({"decoder": "plain", "weights": "sparsemax"}, r"`model\.weights`.*`model\.decoder: plain`.*choose"),
        ({"decoder": "plain", "marginal": True}, r"`model\.marginal`.*`model\.decoder: plain`.*choose"),
        ({"marginal": True, "hard": {"training": "gumbel"}}, r"`model\.hard`.*`model\.marginal`"),
        (
            {"decoder": "posterior", "hard": {"training": "gumbel"}},
            r"`model\.hard`.*`model\.decoder: posterior`",
        ),
        ({"marginal": True, "deep_output": False}, r"set `model\.deep_output: true`"),
    ],
)
def test_kinds_that_do_not_go_together_are_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        parse(RecurrentSettings, {"kind": "rnn", **given}, where="model")


def test_dropout_outside_the_recurrent_layers_has_a_setting_of_its_own() -> None:
    torch.manual_seed(1)
    model = build_rnn(
        RecurrentSettings(**SIZES, layers=2, dropout=0.5, outer_dropout=0.0), Vocabularies(13, 17)
    ).train()
    assert torch.equal(model.encoder.dropout(torch.ones(1, 2, 50)), torch.ones(1, 2, 50))
    assert not torch.equal(model.decoder.stack.dropout(torch.ones(1, 50)), torch.ones(1, 50))
    as_much = build_rnn(RecurrentSettings(**SIZES, dropout=0.5), Vocabularies(13, 17)).train()
    assert not torch.equal(as_much.encoder.dropout(torch.ones(1, 2, 50)), torch.ones(1, 2, 50))


def test_weights_are_dropped_where_asked_for() -> None:
    model = model_of(attention_dropout=0.5)
    assert model.decoder.attention.lookup.dropout == 0.5 and model_of().decoder.attention.lookup.dropout == 0.0
