"""Which sentences are computed together."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.inference.batching import batches, batches_of_one_length

lengths = st.lists(st.integers(1, 40), max_size=60)


@given(lengths, st.integers(1, 200))
def test_every_sentence_is_in_one_batch_that_fits(given: list[int], cells: int) -> None:
    found = list(batches(given, cells))
    assert sorted(number for batch in found for number in batch) == list(range(len(given)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(given[number] for number in batch) <= cells
    assert [given[number] for batch in found for number in batch] == sorted(given, reverse=True)


def test_ties_come_in_the_order_that_is_asked_for() -> None:
    assert list(batches([3, 3, 3], 3, ties=[1, 5, 5])) == [[1], [2], [0]]


@given(lengths, st.integers(1, 9))
def test_batches_of_one_length_hold_no_other(given: list[int], rows: int) -> None:
    found = list(batches_of_one_length(given, rows))
    assert sorted(number for batch in found for number in batch) == list(range(len(given)))
    assert all(len({given[number] for number in batch}) == 1 and len(batch) <= rows for batch in found)
