"""Tests of how many threads a search computes on."""

from threading import Barrier, Thread

import pytest
import torch

from dragoman.inference.threads import SMALL, fitting_threads


@pytest.fixture
def two_threads():
    """Let torch have two threads, and afterwards what it had."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("multiplications", "threads"), [(SMALL - 1, 1), (SMALL, 2)])
def test_little_work_stays_on_one_thread(multiplications: int, threads: int) -> None:
    with fitting_threads(multiplications):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_threads_come_back_after_an_error() -> None:
    with pytest.raises(KeyError), fitting_threads(1):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_two_requests_at_the_same_time_leave_the_number_of_threads_as_it_was() -> None:
    first_inside, second_done = Barrier(2, timeout=10), Barrier(2, timeout=10)

    def first() -> None:
        with fitting_threads(1):
            first_inside.wait()
            second_done.wait()

    request = Thread(target=first)
    request.start()
    first_inside.wait()
    with fitting_threads(1):
        pass
    second_done.wait()
    request.join()
    assert torch.get_num_threads() == 2
    with fitting_threads(1):
        assert torch.get_num_threads() == 1


@pytest.mark.usefixtures("two_threads")
def test_a_request_that_begins_while_another_computes_on_one_thread_has_all_later() -> None:
    found: list[int] = []

    def second() -> None:
        with fitting_threads(1):
            found.append(torch.get_num_threads())
        first_done.wait()
        second_goes_on.wait()
        for multiplications in (SMALL, SMALL - 1, SMALL):
            with fitting_threads(multiplications):
                found.append(torch.get_num_threads())

    first_done, second_goes_on = Barrier(2, timeout=10), Barrier(2, timeout=10)
    request = Thread(target=second)
    with fitting_threads(1):
        request.start()
        first_done.wait()
    second_goes_on.wait()
    request.join()
    assert found == [1, 2, 1, 2]


def test_one_thread_that_was_asked_for_stays_one() -> None:
    before, found = torch.get_num_threads(), []
    torch.set_num_threads(1)

    def request() -> None:
        with fitting_threads(SMALL):
            found.append(torch.get_num_threads())

    one = Thread(target=request)
    one.start()
    one.join()
    torch.set_num_threads(before)
    assert found == [1]
