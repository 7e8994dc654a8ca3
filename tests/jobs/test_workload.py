"""How much a budget lets a model learn."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.data.buckets import batches
from dragoman.jobs.workload import FILLED, MORE_BATCHES, Workload, tokens_of_batch


@pytest.mark.parametrize(("seen", "words"), [(100, "1 pass "), (50, "0.5 passes "), (123_450, "1,230 passes ")])
def test_passes_are_told_in_words(seen: float, words: str) -> None:
    assert str(Workload(10, 100, seen)).startswith(f"{words}over the corpus")


def test_a_step_has_the_tokens_of_its_batches_and_of_the_corpus_at_most() -> None:
    work = Workload(1000, 25_000, 250_000)
    assert work.steps(1000) == pytest.approx(10 * (25 / FILLED + MORE_BATCHES))
    assert replace(work, step=5000).steps(1000) == 50 and Workload(9, 200, 2000).steps(1000) == 10


@pytest.mark.parametrize("usual", [9, 25])
def test_the_batches_of_a_pass_are_estimated_well_enough(usual: int) -> None:
    rng = np.random.default_rng(1)
    for pairs in (50, 200, 1000, 8000):
        lengths = rng.lognormal(np.log(usual), 0.55, pairs).clip(1).astype(np.int32)
        source = (lengths + rng.normal(0, 2, pairs)).clip(1).astype(np.int32)
        made = len(batches(np.arange(pairs), source, lengths, tokens=1500, rng=rng))
        tokens = int(lengths.sum())
        assert tokens / tokens_of_batch(1500, tokens) == pytest.approx(made, rel=0.5)


def test_what_is_chosen_by_the_reference_does_not_follow_the_model() -> None:
    work = Workload(1000, 25_000, 250_000)
    assert work.amount == 250_000 and replace(work, seen_by_reference=9.0).amount == 9 and work.passes == 10


def test_only_a_time_that_is_too_long_does_not_end_a_training() -> None:
    work = Workload(1000, 25_000, 250_000, timed=True)
    assert work.bound == " in the budget" and replace(work, epochs=10).bound == ""
    assert replace(work, timed=False, epochs=10).bound == ""  # no budget at all
