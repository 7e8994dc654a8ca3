"""How much a budget lets a model learn."""

from dataclasses import replace

import pytest

from dragoman.jobs.workload import FILLED, Workload


@pytest.mark.parametrize(("seen", "words"), [(100, "1 pass "), (50, "0.5 passes "), (123_450, "1,230 passes ")])
def test_passes_are_told_in_words(seen: float, words: str) -> None:
    assert str(Workload(10, 100, seen)).startswith(f"{words}over the corpus")


def test_a_step_has_the_tokens_of_its_batches_and_of_the_corpus_at_most() -> None:
    work = Workload(1000, 25_000, 250_000)
    assert work.steps(1000) == pytest.approx(250 / FILLED)
    assert replace(work, step=5000).steps(1000) == 50 and Workload(9, 200, 2000).steps(1000) == 10


def test_what_is_chosen_by_the_reference_does_not_follow_the_model() -> None:
    work = Workload(1000, 25_000, 250_000)
    assert work.amount == 250_000 and replace(work, seen_by_reference=9.0).amount == 9 and work.passes == 10


def test_only_a_time_that_is_too_long_does_not_end_a_training() -> None:
    work = Workload(1000, 25_000, 250_000, timed=True)
    assert work.bound == " in the budget" and replace(work, epochs=10).bound == ""
    assert replace(work, timed=False, epochs=10).bound == " in the budget"
