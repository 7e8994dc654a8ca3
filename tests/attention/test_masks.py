"""Who may see whom."""

import torch
from hypothesis import given
from hypothesis import strategies as st

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


SIZES = st.integers(1, 6)


@given(queries=SIZES, more=st.integers(0, 5), window=st.lists(st.integers(0, 6), min_size=1, max_size=3))
def test_masks_let_each_query_see_what_their_words_say(queries: int, more: int, window: list[int]) -> None:
    keys = queries + more
    lengths = torch.tensor([min(length, keys) for length in window])
    causal, first = masks.causal(queries, keys)[0], masks.from_lengths(lengths, keys)
    real = torch.arange(keys) < lengths[:, None]
    for query in range(queries):
        for key in range(keys):
            assert bool(causal[query, key]) == (key <= query + more)
            for row, length in enumerate(lengths.tolist()):
                assert bool(first[row, 0, key]) == bool(masks.to_source(real)[row, 0, key]) == (key < length)
    own = torch.arange(queries) < lengths[:, None]
    joined = masks.of_real_queries(own, causal[None])
    assert torch.equal(joined, causal[None].expand_as(joined) & own[:, :, None])


@given(queries=SIZES, more=st.integers(0, 5), cut=SIZES)
def test_a_causal_mask_in_parts_is_the_whole_one(queries: int, more: int, cut: int) -> None:
    cut = min(cut, queries)
    whole = masks.causal(queries, queries + more)[0]
    assert (
        torch.equal(masks.causal(cut, cut + more)[0], whole[:cut, : cut + more]) and not whole[:cut, cut + more :].any()
    )
    if cut < queries:
        assert torch.equal(masks.causal(queries - cut, queries + more)[0], whole[cut:])
