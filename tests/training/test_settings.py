"""What a training section may say."""

import pytest

from dragoman.errors import SettingsError
from dragoman.settings import dump, parse
from dragoman.training.settings import TrainingSettings


@pytest.mark.parametrize("budget", [{"steps": 1}, {"epochs": 0.5}, {"minutes": 30}])
def test_any_one_budget_is_enough(budget: dict[str, float]) -> None:
    parse(TrainingSettings, budget)


def test_a_section_without_a_budget_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"`training` needs a budget: set one of `training\.steps`"):
        parse(TrainingSettings, {})


def test_more_weights_to_average_than_are_kept_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"`training\.average` cannot exceed `training\.keep`"):
        parse(TrainingSettings, {"steps": 1, "keep": 3, "average": 4})


@pytest.mark.parametrize("betas", [[0.9, 1.0], [-0.1, 0.9], [0.9]])
def test_averages_that_cannot_decay_are_refused(betas: list[float]) -> None:
    with pytest.raises(SettingsError, match=r"betas"):
        parse(TrainingSettings, {"steps": 1, "betas": betas})


@pytest.mark.parametrize("name", ["learning_rate", "clip", "epsilon"])
def test_what_must_be_positive_is(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"`{name}` is 0"):
        parse(TrainingSettings, {"steps": 1, name: 0})


def test_a_gradient_that_is_never_clipped_survives_the_recipe() -> None:
    import yaml

    settings = parse(TrainingSettings, {"steps": 1, "clip": float("inf")})
    assert parse(TrainingSettings, yaml.safe_load(dump(settings))) == settings


def test_a_phase_without_dropout_makes_one_pass_where_two_would_be_equal() -> None:
    phases = [{"after": 0.5, "dropout": False}, {"after": 0.8}]
    r_drop = parse(TrainingSettings, {"steps": 9, "phases": phases, "consistency": {"kind": "r_drop"}})
    assert [r_drop.in_phase(number).consistency for number in range(3)] == [
        r_drop.consistency,
        None,
        r_drop.consistency,
    ]
    simcut = parse(TrainingSettings, {"steps": 9, "phases": phases, "consistency": {"kind": "simcut"}})
    assert all(simcut.in_phase(number).consistency == simcut.consistency for number in range(3))
