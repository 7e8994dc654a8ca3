"""How threads wait for one another."""

import pytest

from dragoman.machine.openmp import load_average, set_wait_policy


@pytest.mark.parametrize(("load", "turns"), [(0.0, "10000"), (0.49, "10000"), (0.5, "1000"), (float("inf"), "1000")])
def test_threads_spin_longer_where_nobody_else_runs(load: float, turns: str) -> None:
    environment: dict[str, str] = {}
    set_wait_policy(environment, load)
    assert environment == {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": turns}


@pytest.mark.parametrize("given", [{"OMP_WAIT_POLICY": "ACTIVE"}, {"GOMP_SPINCOUNT": "7"}])
def test_what_the_user_set_stays(given: dict[str, str]) -> None:
    environment = dict(given)
    set_wait_policy(environment, 0.0)
    assert environment == given


def test_the_load_is_a_number() -> None:
    assert load_average() >= 0
