"""The largest numbers are those that torch finds, however many there are."""

import pytest
import torch

from dragoman.decoding.top_k import BLOCK, MANY, blockwise_top_k


@pytest.mark.parametrize(
    ("rows", "many", "count"),
    [
        (3, 10, 10),
        (1, 100, 3),
        (MANY // 4096, 4096, 12),
        (9, 64 * BLOCK + 17, 12),
        (9, 64 * BLOCK + 63, 1),
        (0, 9000, 4),
    ],
)
def test_they_are_those_of_topk(rows: int, many: int, count: int) -> None:
    numbers = torch.randn(rows, many, generator=torch.Generator().manual_seed(many)).cumsum(1)
    for given in (numbers, -numbers, numbers.masked_fill(torch.arange(many) % 300 != 5, -torch.inf)):
        values, places = blockwise_top_k(given, count)
        assert torch.equal(values, given.topk(count).values)
        assert torch.equal(given.gather(1, places), values)
        assert all(len(set(row)) == count for row in places.tolist())


def test_what_makes_no_whole_block_is_searched_too() -> None:
    numbers = torch.zeros(8, 64 * BLOCK + 1)
    numbers[:, -1] = 1
    assert blockwise_top_k(numbers, 1)[1].tolist() == [[64 * BLOCK]] * 8


def test_what_is_not_a_number_comes_first() -> None:
    numbers = torch.zeros(8, 64 * BLOCK)
    numbers[:, 700] = torch.nan
    assert blockwise_top_k(numbers, 2)[1][:, 0].tolist() == [700] * 8
