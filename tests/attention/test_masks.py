"""Who may see whom."""

import torch

from dragoman.attention import masks


def test_a_query_sees_itself_and_what_came_before() -> None:
    assert masks.causal(3, 3).int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]


def test_keys_kept_from_earlier_are_all_seen() -> None:
    assert masks.causal(1, 4).all()
    assert masks.causal(2, 4).int().tolist() == [[[1, 1, 1, 0], [1, 1, 1, 1]]]


def test_every_query_sees_every_real_source_token() -> None:
    real = torch.tensor([[True, True], [True, False]])
    assert torch.equal(masks.to_source(real), real[:, None])


def test_lengths_may_be_given_for_each_query() -> None:
    mask = masks.from_lengths(torch.tensor([[0, 2], [1, 3]]), keys=3)
    assert mask.int().tolist() == [[[0, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 1, 1]]]


def test_masks_are_joined_with_and() -> None:
    both = masks.causal(2, 2) & masks.to_source(torch.tensor([[False, True]]))
    assert both.int().tolist() == [[[0, 0], [0, 1]]]
