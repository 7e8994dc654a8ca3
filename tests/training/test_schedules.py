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
