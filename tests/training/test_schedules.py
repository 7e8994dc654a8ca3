"""Learning rates against their closed forms."""

import math

import pytest

from dragoman.training.schedules import learning_rate


@pytest.mark.parametrize("step", [1, 2, 3999, 4000, 4001, 100_000])
def test_inverse_root_is_equation_3_of_the_transformer_paper(step: int) -> None:
    width, warmup = 512, 4000
    published = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
    peak = (width * warmup) ** -0.5
    assert learning_rate("inverse_root", step, 0.5, peak=peak, warmup=warmup) == pytest.approx(published)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_cosine_linear_and_constant_are_functions_of_the_share(share: float) -> None:
    forms = {"cosine": (1 + math.cos(math.pi * share)) / 2, "linear": 1 - share, "constant": 1.0}
    for name, expected in forms.items():
        assert learning_rate(name, 500, share, peak=2.0, warmup=100) == pytest.approx(2 * expected)


@pytest.mark.parametrize("name", ["inverse_root", "cosine", "linear", "constant"])
def test_all_rise_linearly_to_the_peak(name: str) -> None:
    rates = [learning_rate(name, step, 0.0, peak=3.0, warmup=10) for step in range(1, 11)]
    assert rates == pytest.approx([0.3 * step for step in range(1, 11)])


@pytest.mark.parametrize("name", ["inverse_root", "cosine", "linear", "constant"])
def test_without_warm_up_the_first_step_has_the_peak(name: str) -> None:
    assert learning_rate(name, 1, 0.0, peak=3.0, warmup=0) == 3.0


@pytest.mark.parametrize("share", [-0.5, 1.5])
def test_a_share_outside_the_budget_is_taken_as_its_nearer_end(share: float) -> None:
    expected = learning_rate("linear", 9, float(share > 0), peak=1.0, warmup=0)
    assert learning_rate("linear", 9, share, peak=1.0, warmup=0) == expected


def test_halving_is_that_of_gnmt() -> None:
    """Wu et al. 2016, section 8.3: after 1.2 million steps of 2 million, halved every 200,000."""
    million = [0.5, 1.19, 1.21, 1.39, 1.41, 1.79, 1.81, 2.0]
    rates = [learning_rate("halving", 9, steps / 2, peak=0.5, warmup=0) for steps in million]
    assert rates == [0.5, 0.5, 0.25, 0.25, 0.125, 0.0625, 0.03125, 0.015625]


def test_a_plateau_falls_to_a_tenth_at_each_cut() -> None:
    rates = [learning_rate("plateau", 9, 0.5, peak=0.25, warmup=0, cuts=cuts) for cuts in (0, 1, 2)]
    assert rates == pytest.approx([0.25, 0.025, 0.0025])
