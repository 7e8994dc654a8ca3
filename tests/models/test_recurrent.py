"""What the recurrent encoder-decoders share."""

import pytest
import torch
from tests.models.test_rnn import model_of

from dragoman.laws.examples import source


def test_one_direction_of_the_same_size_hands_its_state_over_as_it_is() -> None:
    model = model_of(bidirectional=False, layers=2, cell="lstm")
    encoded = model.encoder(source([5, 3]))
    hidden = model.decoder.start(encoded).past.hidden
    assert all(torch.equal(first, last) for first, last in zip(hidden, encoded.final, strict=True))


def test_the_bridge_squashes_hidden_vectors_and_leaves_memories_as_they_are_mapped() -> None:
    model = model_of(cell="lstm", layers=2, encoder_hidden=3)
    encoded = model.encoder(source([5, 3]))
    hidden, memory = model.decoder.start(encoded).past.hidden
    maps = model.decoder.bridge.maps
    torch.testing.assert_close(hidden, torch.tanh(maps[0](encoded.final[0])))
    torch.testing.assert_close(memory, maps[1](encoded.final[1]))
    assert hidden.shape == memory.shape == (2, 2, 8)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_encoder_gives_zeros_on_padding_and_its_last_state_is_that_of_real_tokens(bidirectional: bool) -> None:
    model = model_of(decoder="bahdanau", bidirectional=bidirectional)
    together = source([5, 3])
    encoded = model.encoder(together)
    assert not encoded.states[1, 3:].any() and encoded.states[1, :3].all(-1).all()
    alone = model.encoder(type(together)(together.ids[1:, :3], together.mask[1:, :3]))
    torch.testing.assert_close(alone.final[0], encoded.final[0][1:])


@pytest.mark.parametrize("decoder", ["bahdanau", "luong", "posterior"])
def test_how_many_tokens_were_read_is_counted(decoder: str) -> None:
    model = model_of(decoder=decoder)
    state = model.decoder.start(model.encoder(source([5, 3])))
    for count in (2, 1):
        _, state = model.decoder(torch.full((2, count), 5), state)
    assert state.past.position == 3
