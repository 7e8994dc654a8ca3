"""Luong's decoder: step, then attend with the new state."""

from dataclasses import replace

import pytest
import torch
from tests.models.test_rnn import model_of

from dragoman.errors import SettingsError
from dragoman.laws.examples import source, target
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.settings import parse


@pytest.mark.parametrize("feeding", [True, False])
def test_only_input_feeding_carries_an_attention_vector(feeding: bool) -> None:
    model = model_of(decoder="luong", input_feeding=feeding)
    state = model.decoder.start(model.encoder(source([5, 3])))
    assert (state.past.fed is not None) == feeding
    if feeding:
        assert state.past.fed.shape == (2, 8) and not state.past.fed.any()


def test_input_feeding_without_luong_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"`model\.input_feeding` .* `model\.decoder: luong`"):
        parse(RecurrentSettings, {"decoder": "bahdanau", "input_feeding": True})


@pytest.mark.parametrize("feeding", [True, False])
def test_features_are_the_attention_vector(feeding: bool) -> None:
    """They are tanh(W_c [c_t; h_t]), where c_t is the average of the source under the weights shown."""
    model = model_of(decoder="luong", input_feeding=feeding, score="general")
    encoded = model.encoder(source([5, 3]))
    state, tokens = model.decoder.start(encoded), target(2, 1)
    output, after = model.decoder(tokens, state, need_weights=True)
    context = output.attention[:, 0, 0] @ encoded.states
    joined = torch.cat([context, after.past.hidden[0][:, -1:]], -1)
    torch.testing.assert_close(output.features, torch.tanh(joined @ model.decoder.combine.weight.T))


def test_the_last_attention_vector_is_fed_into_the_next_step() -> None:
    model = model_of(decoder="luong", input_feeding=True)
    state = model.decoder.start(model.encoder(source([5, 3])))
    output, after = model.decoder(target(2, 4), state)
    torch.testing.assert_close(after.past.fed, output.features[:, -1])


def test_what_was_fed_decides_on_the_next_token() -> None:
    model = model_of(decoder="luong", input_feeding=True)
    state = model.decoder.start(model.encoder(source([5, 3])))
    first, other = (torch.full_like(state.past.fed, value) for value in (0.0, 0.9))
    found = [model.decoder(target(2, 1), with_fed(state, fed))[0].logits for fed in (first, other)]
    assert not torch.allclose(*found, atol=1e-4)


def with_fed(state: object, fed: torch.Tensor) -> object:
    """Return a state with another attention vector."""
    return replace(state, past=replace(state.past, fed=fed))
