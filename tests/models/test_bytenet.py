"""ByteNet: what each position sees, and how the decoder unfolds. Its equations are tested in `tests/reference`."""

import pytest
import torch
from tests.laws.architectures import bytenet
from torch import Tensor

from dragoman.interfaces import Encoded, Padded
from dragoman.laws.examples import model_of, source, target
from dragoman.models.bytenet import ByteNetSettings, unfolded_lengths

DEEP = bytenet(channels=16, sets=2, dilations=(1, 2, 4), width=3, stretch=1.0)
REACH = 2 * (1 + 2 + 4)
"""How far the blocks of DEEP see together on one side, where they are centred; twice as far back, where they are masked."""


def changed_positions(before: Tensor, after: Tensor) -> list[int]:
    """Positions, on the second axis, where two tensors differ at all."""
    return torch.nonzero((before != after).any(0).any(-1)).flatten().tolist()


def other_token(ids: Tensor, position: int) -> Tensor:
    """The same ids with another token at one position."""
    changed = ids.clone()
    changed[:, position] = 4 + (ids[:, position] - 3) % 9
    return changed


@torch.no_grad()
def test_a_column_sees_the_sum_of_the_dilations_on_either_side() -> None:
    encoder, sentence = model_of(DEEP).encoder, source([40])
    before = encoder(sentence).states
    for position in (0, 20, 38):
        after = encoder(Padded(other_token(sentence.ids, position), sentence.mask)).states
        expected = [seen for seen in range(40) if abs(seen - position) <= REACH]
        assert changed_positions(before, after) == expected


@torch.no_grad()
def test_a_target_position_sees_twice_the_sum_of_the_dilations_back() -> None:
    model, sentence, tokens = model_of(DEEP), source([3]), target(1, 40)
    before = model(sentence, tokens).features
    for position in (1, 5, 30):
        after = model(sentence, other_token(tokens, position)).features
        assert changed_positions(before, after) == list(range(position, min(position + 2 * REACH + 1, 40)))


def test_six_sets_of_the_paper_see_373_positions() -> None:
    """1 + 2 * (1 + 2 + 4 + 8 + 16) * 6: figure 1 and section 5 of the paper."""
    settings = ByteNetSettings(sets=6)
    assert 1 + (settings.width - 1) * sum(settings.dilations) * settings.sets == 373


@torch.no_grad()
@pytest.mark.parametrize("join", ["sum", "concat"])
def test_a_target_position_reads_the_columns_up_to_its_own(join: str) -> None:
    decoder, tokens = model_of(bytenet(join=join, channels=16)).decoder, target(1, 6)
    columns, mask = torch.randn(1, 8, 32), torch.ones(1, 8, dtype=torch.bool)
    before, _ = decoder(tokens, decoder.start(Encoded(columns, mask)))
    for position in range(8):
        changed = columns.clone()
        changed[:, position] = torch.randn(1, 32)
        after, _ = decoder(tokens, decoder.start(Encoded(changed, mask)))
        assert changed_positions(before.features, after.features) == list(range(position, 6))


@torch.no_grad()
def test_past_the_end_of_the_source_the_decoder_reads_zeros() -> None:
    decoder, tokens = model_of(bytenet()).decoder, target(1, 9)
    columns = torch.randn(1, 4, 8)
    padded = torch.cat([columns, torch.zeros(1, 5, 8)], 1)
    short, _ = decoder(tokens, decoder.start(Encoded(columns, torch.ones(1, 4, dtype=torch.bool))))
    long, _ = decoder(tokens, decoder.start(Encoded(padded, torch.ones(1, 9, dtype=torch.bool))))
    torch.testing.assert_close(short.features, long.features)


@torch.no_grad()
def test_the_source_unfolds_to_the_length_of_the_settings_each_sentence_for_itself() -> None:
    encoded = model_of(bytenet(stretch=1.5, extra=2)).encoder(source([10, 3, 1]))
    assert encoded.mask.sum(1).tolist() == [17, 7, 4]
    assert encoded.states.shape[1] == 17
    assert (encoded.states[encoded.mask].abs().sum(-1) > 0).all()
    assert not encoded.states[~encoded.mask].any()


@pytest.mark.parametrize("length", [10, 50, 100])
def test_lengths_that_come_out_whole_are_not_rounded_up(length: int) -> None:
    """In floating point 50 * 1.1 is above 55."""
    assert unfolded_lengths(torch.tensor([length]), 1.1, 0).item() == length * 11 // 10


def test_there_are_no_weights_to_give() -> None:
    assert model_of(bytenet())(source([5]), target(1, 3), need_weights=True).attention is None
