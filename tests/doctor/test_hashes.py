"""Hashes of many texts at once, and sets of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.doctor.chunk import Side
from dragoman.doctor.hashes import SeenHashes, numbered


@given(st.lists(st.integers(0, 9).map(lambda one: one << 42 | one % 2 << 3), max_size=30))
def test_equal_hashes_have_equal_numbers_also_where_their_first_bits_are_the_same(values: list[int]) -> None:
    different, numbers = numbered(np.array(values, np.uint64))
    assert different.tolist() == sorted(set(values))
    assert different[numbers].tolist() == values


@given(st.lists(st.lists(st.integers(1, 40), max_size=30), max_size=5))
def test_hashes_that_were_seen_are_known(batches: list[list[int]]) -> None:
    seen, known = SeenHashes(), set[int]()
    for batch in batches:
        expected = []
        for one in batch:
            expected.append(one in known)
            known.add(one)
        assert seen.add(np.array(batch, np.uint64)).tolist() == expected
    assert len(seen) == len(known)


def test_many_hashes_are_known_in_a_set_that_grows() -> None:
    hashes = Side([f"{number}" for number in range(20_000)]).codes.hashes
    seen = SeenHashes()
    assert not seen.add(hashes).any()
    assert seen.has(hashes).all() and len(seen) == 20_000


def test_a_full_set_knows_what_it_has() -> None:
    seen = SeenHashes(most=2)
    assert seen.add(np.array([5, 6, 5], np.uint64)).tolist() == [False, False, True]
    assert seen.add(np.array([5, 7], np.uint64)).tolist() == [True, False]
    assert seen.add(np.array([7], np.uint64)).tolist() == [False]
    assert len(seen) == 2
