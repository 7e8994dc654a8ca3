"""GNMT's initialisation, sharing and bounds."""

import pytest
import torch

from dragoman.errors import InputError
from dragoman.interfaces import PAD, Padded
from dragoman.models.gnmt import GnmtSettings, build_gnmt
from dragoman.models.seq2seq import Seq2Seq, Vocabularies


def model_of(**settings: object) -> Seq2Seq:
    """A small GNMT."""
    given = {"encoder_layers": 3, "decoder_layers": 3, "hidden": 8, **settings}
    return build_gnmt(GnmtSettings(**given), Vocabularies(9, 11))


def test_all_weights_start_in_the_range_that_is_set() -> None:
    """Wu et al. 2016, section 8: all weights are drawn evenly from [-0.04, 0.04]."""
    model = model_of()
    for name, parameter in model.named_parameters():
        assert parameter.abs().max() <= 0.04
        assert parameter.abs().max() > 0.02, name
    for part in (model.encoder, model.decoder):
        assert (part.embedding.weight[PAD] == 0).all()


def test_without_a_range_layers_start_as_they_do_elsewhere() -> None:
    layer = model_of(initial_range=None).decoder.layers[1].stack
    assert (layer.bias_ih_l0 == 0).all()
    first = layer.weight_hh_l0[:8]
    torch.testing.assert_close(first @ first.T, torch.eye(8))


def test_a_tied_output_layer_is_the_target_embedding() -> None:
    tied, free = model_of(tied=True), model_of()
    assert tied.decoder.head.weight is tied.decoder.embedding.weight
    assert free.decoder.head.weight is not free.decoder.embedding.weight


def test_location_attention_bounds_the_source() -> None:
    model = model_of(score="location", max_positions=3)
    assert model.source_positions == 3
    assert model_of().source_positions is None
    long = Padded(torch.tensor([[4, 5, 6, 2]]), torch.ones(1, 4, dtype=torch.bool))
    with pytest.raises(InputError, match="longer than the 3 positions"):
        model(long, torch.tensor([[1]]))
