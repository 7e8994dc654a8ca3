"""The nouns that all parts share."""

from dataclasses import FrozenInstanceError

import pytest
import torch

from dragoman.interfaces import BOS, EOS, PAD, UNK, Batch, DecoderOutput, DecoderState, KeyValues, Padded
from dragoman.layers.embedding import OutputLayer
from dragoman.text import vocabulary

IDS = torch.tensor([[BOS, 7, EOS], [BOS, EOS, PAD]])
PADDED = Padded(IDS, IDS != PAD)


def test_special_ids_are_those_of_every_vocabulary() -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert (vocabulary.PAD, vocabulary.BOS, vocabulary.EOS, vocabulary.UNK) == (PAD, BOS, EOS, UNK)


def test_the_decoder_reads_all_but_the_last_and_predicts_all_but_the_first() -> None:
    batch = Batch(PADDED, PADDED)
    assert batch.inputs.tolist() == [[BOS, 7], [BOS, EOS]]
    assert batch.labels.tolist() == [[7, EOS], [EOS, PAD]]
    assert batch.real.tolist() == [[True, True], [True, False]]


def test_a_batch_moves_whole() -> None:
    moved = Batch(PADDED, PADDED).to(torch.device("meta"))
    assert {moved.source.ids.device.type, moved.target.mask.device.type} == {"meta"}


def test_key_values_grow_along_time() -> None:
    old = KeyValues(torch.zeros(1, 2, 2, 3), torch.zeros(1, 2, 2, 4))
    grown = old.extend(KeyValues(torch.ones(1, 2, 1, 3), torch.ones(1, 2, 1, 4)))
    assert grown.keys[0, 0, :, 0].tolist() == grown.values[0, 0, :, 0].tolist() == [0, 0, 1]


def test_a_state_is_a_value() -> None:
    state = DecoderState(torch.arange(2), torch.arange(2))
    with pytest.raises(FrozenInstanceError):
        state.past = None
    state.select(torch.tensor([1]))
    assert state.past.tolist() == [0, 1]


def test_hypotheses_stand_side_by_side_and_share_their_source() -> None:
    state = DecoderState(torch.tensor([[1], [2]]), (torch.tensor([3, 4]), None))
    expanded = state.expand(2)
    assert expanded.source is state.source
    assert expanded.past[0].tolist() == [3, 3, 4, 4]
    kept = expanded.select(torch.tensor([3, 2]), torch.tensor([1]))
    assert (kept.source.tolist(), kept.past[0].tolist()) == ([[2]], [4, 4])


def test_repeated_rows_have_their_own_source() -> None:
    repeated = DecoderState(torch.tensor([[1], [2]]), (torch.tensor([3, 4]), None)).repeat(2)
    assert repeated.source.tolist() == [[1], [1], [2], [2]]
    assert repeated.past[0].tolist() == [3, 3, 4, 4]


def test_hypotheses_move_within_a_sentence_and_the_source_stays() -> None:
    state = DecoderState(torch.tensor([1, 1, 2, 2]), torch.tensor([3, 4, 5, 6]))
    moved = state.reorder(torch.tensor([1, 1, 3, 2]))
    assert moved.source is state.source
    assert moved.past.tolist() == [4, 4, 6, 5]


def test_selected_rows_take_their_source_along() -> None:
    state = DecoderState(torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6])).select(torch.tensor([2, 0]))
    assert (state.source.tolist(), state.past.tolist()) == ([3, 1], [6, 4])


def test_logits_are_what_the_head_makes_of_the_features() -> None:
    head, features = OutputLayer(4, 9), torch.randn(2, 3, 4)
    assert torch.equal(DecoderOutput(features, head).logits, head(features))


def test_label_positions_are_those_of_real_labels_and_known_before_a_batch_moves() -> None:
    batch = Batch(PADDED, PADDED)
    assert batch.label_positions.tolist() == [0, 1, 2]
    assert Batch(PADDED, PADDED, cached_label_positions=torch.tensor([1])).label_positions.tolist() == [1]
    assert batch.to(torch.device("cpu")).cached_label_positions is None
    moved = batch.to(torch.device("meta"))
    assert moved.cached_label_positions is not None and moved.cached_label_positions.shape == (3,)
