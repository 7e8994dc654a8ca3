"""The recurrent system with experts. Its equations are tested in `tests/reference`, its laws in `tests/laws`."""

from typing import Any

import pytest
import torch
from torch import nn

from dragoman.attention.scores import Product
from dragoman.errors import SettingsError
from dragoman.interfaces import Padded
from dragoman.laws.examples import batch, source, target
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.moe import MoeDecoder, MoeEncoder, MoeSettings, build_moe
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.settings import parse
from dragoman.training.objectives import translation_loss

SIZES: dict[str, Any] = {"width": 8, "cells": 12, "expert_hidden": 6, "dropout": 0.0}
FOUR = ExpertSettings(experts=4, active=2, gate="balanced")


def model_of(**settings: Any) -> Seq2Seq:
    """A small system, the same at every call."""
    torch.manual_seed(1)
    return build_moe(MoeSettings(**{**SIZES, "experts": FOUR, **settings}), Vocabularies(13, 13))


def parts_of(model: Seq2Seq) -> tuple[MoeEncoder, MoeDecoder]:
    """Encoder and decoder by their types."""
    assert isinstance(model.encoder, MoeEncoder) and isinstance(model.decoder, MoeDecoder)
    return model.encoder, model.decoder


def silence(*modules: nn.Module) -> None:
    """Set all weights of modules to zero."""
    for module in modules:
        for parameter in module.parameters():
            nn.init.zeros_(parameter)


def test_defaults_are_the_paper_s_flat_model() -> None:
    settings = MoeSettings()
    assert (settings.width, settings.cells, settings.expert_hidden, settings.dropout) == (512, 2048, 2048, 0.4)
    assert (settings.experts.experts, settings.experts.active, settings.experts.gate) == (32, 4, "balanced")
    assert (settings.experts.importance, settings.experts.load, settings.score) == (0.01, 0.01, "product")
    assert isinstance(model_of().decoder.attention.score, Product)  # type: ignore[union-attr]


def test_there_are_residuals_around_every_lstm_and_mixture() -> None:
    """With weights of zero, an LSTM says 0 and a mixture sigmoid(0) = 1/2: embeddings pass, half is added to each."""
    model = model_of().eval()
    encoder, decoder = parts_of(model)
    silence(encoder.both, encoder.above, encoder.mixture, decoder.first, decoder.second, decoder.mixture)
    sentences, tokens = source([5, 3]), target(2, 4)
    torch.testing.assert_close(encoder(sentences).states, encoder.embedding(sentences.ids) + 0.5)
    torch.testing.assert_close(model(sentences, tokens).features, decoder.embedding(tokens) + 0.5)


def test_the_mixture_stands_below_the_last_lstm_of_the_encoder() -> None:
    encoder, _ = parts_of(model_of().eval())
    sentences = source([4])
    silence(encoder.both)
    below = encoder.embedding(sentences.ids)
    mixed = below + encoder.mixture.experts(below).states.sigmoid()
    above, _ = encoder.above(mixed, encoder.above.start(mixed))
    torch.testing.assert_close(encoder(sentences).states, mixed + above)


def test_the_first_pair_alone_reads_backwards() -> None:
    encoder, _ = parts_of(model_of().eval())
    sentences = source([5])
    others = Padded(sentences.ids.clone(), sentences.mask)
    others.ids[0, 3] = 4 + (others.ids[0, 3] - 3) % 9
    assert not torch.equal(encoder(sentences).states[0, 0], encoder(others).states[0, 0])
    silence(encoder.both)
    assert torch.equal(encoder(sentences).states[0, :3], encoder(others).states[0, :3])


def test_the_query_is_the_first_lstm_s_last_output_so_the_token_read_now_cannot_choose() -> None:
    model = model_of().eval()
    tokens = target(1, 4)
    others = tokens.clone()
    others[0, 2] = 4 + (others[0, 2] - 3) % 9
    weights, changed = (model(source([5]), ids, need_weights=True).attention for ids in (tokens, others))
    assert torch.equal(weights[..., :3, :], changed[..., :3, :])
    assert not torch.equal(weights[..., 3, :], changed[..., 3, :])
    torch.testing.assert_close(weights[0, 0, 0, 0], torch.full((5,), 0.2))


def test_the_loss_has_the_penalties_of_both_sides() -> None:
    model, pairs = model_of(experts=FOUR.model_copy(update={"importance": 5.0})), batch([5, 2, 4], [4, 3, 6])
    encoded = model.encoder(pairs.source)
    output, _ = model.decoder(pairs.inputs, model.decoder.start(encoded))
    assert encoded.penalty is not None and output.penalty is not None
    assert float(encoded.penalty.detach()) > 0.01 and float(output.penalty.detach()) > 0.01
    loss = translation_loss(model, pairs)
    both = (encoded.penalty + output.penalty).detach() * loss.tokens
    torch.testing.assert_close(loss.total.detach() - loss.plain, both, rtol=1e-4, atol=1e-4)
    dev = translation_loss(model.eval(), pairs)
    torch.testing.assert_close(dev.total, dev.plain)


def test_padding_has_no_part_in_what_balanced_gates_choose_while_training() -> None:
    model, pairs = model_of(), batch([5, 2, 4], [4, 3, 6])
    ids = torch.where(pairs.target.mask, pairs.target.ids, 0)
    garbage = torch.where(pairs.source.mask, pairs.source.ids, 9)
    plain = model(pairs.source, ids[:, :-1])
    other = model(Padded(garbage, pairs.source.mask), ids[:, :-1])
    wider = model(pairs.source, nn.functional.pad(ids[:, :-1], (0, 3)))
    for changed in (other, wider):
        torch.testing.assert_close(changed.penalty, plain.penalty)
        found = changed.features[:, : ids.shape[1] - 1][pairs.real]
        torch.testing.assert_close(found, plain.features[pairs.real])


def test_tying_shares_the_target_embedding_with_the_output() -> None:
    for tied in (True, False):
        _, decoder = parts_of(model_of(tied=tied))
        assert (decoder.head.weight is decoder.embedding.weight) == tied


def test_cells_must_be_more_than_the_width() -> None:
    with pytest.raises(SettingsError, match=r"`model\.cells` is 16"):
        parse(MoeSettings, {"width": 16, "cells": 16})
