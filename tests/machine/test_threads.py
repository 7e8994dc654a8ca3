"""How many threads of a CPU torch computes with."""

from collections.abc import Iterator

import pytest
import torch

from dragoman.machine.threads import quickest_thread_count, threads_restored


@pytest.fixture
def two_threads() -> Iterator[None]:
    with threads_restored():
        torch.set_num_threads(2)
        yield


@pytest.mark.parametrize(("alone", "together", "chosen"), [(1.0, 2.0, 1), (2.0, 1.0, 2), (1.0, 1.0, 2), (0.95, 1.0, 2)])
def test_one_thread_is_chosen_where_it_is_clearly_quicker(
    two_threads: None, alone: float, together: float, chosen: int
) -> None:
    now = [0.0]

    def work() -> None:
        now[0] += alone if torch.get_num_threads() == 1 else together

    assert quickest_thread_count(work, clock=lambda: now[0]) == chosen
    assert torch.get_num_threads() == 2


def test_a_number_of_threads_is_restored_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="stop"), threads_restored():
        torch.set_num_threads(before + 1)
        raise ValueError("stop")
    assert torch.get_num_threads() == before
