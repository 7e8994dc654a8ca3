"""Budgets: the first that is used up ends a training."""

import pytest

from dragoman.errors import TrainingError
from dragoman.training.budgets import BUDGETS, check_first_step, shares
from dragoman.training.progress import Progress
from dragoman.training.settings import OptimisationSettings


def test_only_budgets_that_are_given_have_a_share() -> None:
    used = {"steps": 5, "epochs": 0.5, "minutes": 1.0, "tokens": 100, "flops": 1e6}
    assert shares({"steps": 20, "epochs": None, "tokens": 80}, used) == {"steps": 0.25, "tokens": 1.25}


def test_every_budget_is_a_setting_and_is_counted() -> None:
    assert set(BUDGETS) <= set(OptimisationSettings.model_fields)
    assert set(Progress().used(0.0)) == set(BUDGETS)


def test_the_budget_that_one_step_exceeds_most_is_named() -> None:
    used = {"steps": 1, "tokens": 100, "flops": 1e9}
    with pytest.raises(TrainingError, match=r"`training\.flops: 1000` is too small for one step, which takes 1e\+09"):
        check_first_step({"steps": 1, "tokens": 50, "flops": 1000.0}, used)
    with pytest.raises(TrainingError, match=r"`training\.tokens: 2000` is too small for one step, which takes 2,314; "):
        check_first_step({"tokens": 2000}, {"tokens": 2314})
    check_first_step({"steps": 1, "tokens": 100}, used)
