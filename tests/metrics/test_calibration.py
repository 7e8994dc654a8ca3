"""Logistic and isotonic regression, reliability and AUROC, against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.metrics import calibration
from dragoman.metrics.calibration import (
    EXTREME,
    Logistic,
    auroc,
    error_by_chance,
    expected_calibration_error,
    fit_isotonic,
    fit_logistic,
    folds,
    reliability,
)

CHANCE = np.random.default_rng(4)


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    scores, labels = CHANCE.integers(0, 6, 40).astype(float), CHANCE.integers(0, 2, 40)
    pairs = [
        1.0 if one > other else 0.5 if one == other else 0.0
        for (one, good), (other, bad) in itertools.product(zip(scores, labels, strict=True), repeat=2)
        if good and not bad
    ]
    assert auroc(scores, labels) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(-scores, labels) == pytest.approx(1 - auroc(scores, labels))
    with pytest.raises(ValueError, match="both labels"):
        auroc(scores, np.ones(40))


def test_isotonic_regression_is_the_max_min_of_means() -> None:
    scores, labels = CHANCE.permutation(30).astype(float), CHANCE.integers(0, 2, 30).astype(float)
    ordered = labels[np.argsort(scores)]
    expected = [
        max(min(ordered[low : high + 1].mean() for high in range(at, 30)) for low in range(at + 1)) for at in range(30)
    ]
    fitted = fit_isotonic(scores, labels)
    blocks = [value for value, _ in itertools.groupby(expected)]
    assert list(fitted.values) == pytest.approx(blocks)
    values = fitted(np.linspace(-5, 35, 100))
    assert (np.diff(values) >= 0).all() and values[0] == fitted.values[0] and values[-1] == fitted.values[-1]


def test_equal_scores_get_one_value_and_small_blocks_are_merged() -> None:
    assert fit_isotonic(np.array([1.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])).values == (0.5, 1.0)
    assert fit_isotonic(np.arange(7.0), np.array([0.0, 0, 0, 1, 1, 1, 1]), least=3).values == (0.0, 1.0)
    assert fit_isotonic(np.arange(2.0), np.array([0.0, 1.0]), least=5).values == (0.5,)


def test_logistic_regression_minimises_its_penalised_loss() -> None:
    table = CHANCE.normal(size=(200, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
    labels = (table[:, 0] + 0.1 * table[:, 1] + CHANCE.normal(size=200) > 0.5).astype(float)
    model = fit_logistic(table, labels, ridge=2.0)
    standard = np.clip((table - table.mean(0)) / table.std(0), -EXTREME, EXTREME)

    def loss(parameters: np.ndarray) -> float:
        logits = standard @ parameters[:-1] + parameters[-1]
        return float((np.logaddexp(0, logits) - labels * logits).sum() + (parameters[:-1] ** 2).sum())

    found = np.array([*model.weights, model.bias])
    for direction in np.eye(4):
        assert loss(found) < min(loss(found + 0.01 * direction), loss(found - 0.01 * direction))
    assert ((model(table) > 0.5) == (labels > 0.5)).mean() > 0.75


def test_logistic_regression_survives_what_is_separable_constant_or_extreme() -> None:
    model = fit_logistic(np.array([[0.0, 7.0], [1.0, 7.0]] * 20), np.array([0.0, 1.0] * 20), ridge=1e-3)
    predicted = model(np.array([[0.0, 7.0], [1.0, 7.0], [1e300, -1e300]]))
    assert np.isfinite(predicted).all() and predicted[0] < 0.05 and predicted[1] > 0.95


def test_a_feature_is_cut_off_where_it_speaks_for_the_label_and_farther_out_where_it_speaks_against() -> None:
    model = Logistic((1.0, 0.0), (2.0, 1.0), (2.0, -3.0), 0.5, favourable=1.5)
    rows = np.array([[3.0, 1.0], [99.0, 0.0], [1.0, -99.0], [-99.0, 0.0], [1.0, 99.0]])
    expected = [0.5 + 2 - 3, 0.5 + 2 * 1.5 - 0, 0.5 + 3 * 1.5, 0.5 - 2 * EXTREME, 0.5 - 3 * EXTREME]
    assert model.logits(rows) == pytest.approx(expected)
    assert model(rows) == pytest.approx(1 / (1 + np.exp(-np.array(expected))))


def test_reliability_counts_every_prediction_once() -> None:
    predicted = CHANCE.random(103)
    labels = (CHANCE.random(103) < predicted).astype(float)
    found = reliability(predicted, labels)
    assert len(found) == 10 and sum(one.count for one in found) == 103
    assert sum(one.observed * one.count for one in found) == pytest.approx(labels.sum())
    assert expected_calibration_error(labels, labels) == 0.0
    assert expected_calibration_error(1 - np.sort(labels), np.sort(labels), bins=103) == 1.0


def test_probabilities_that_are_true_have_the_error_of_chance_and_others_more() -> None:
    predicted = CHANCE.random(4000)
    labels = (CHANCE.random(4000) < predicted).astype(float)
    assert expected_calibration_error(predicted, labels) < 2 * error_by_chance(predicted)
    assert expected_calibration_error(predicted**3, labels) > 5 * error_by_chance(predicted)


def test_parts_are_as_even_as_possible() -> None:
    assert np.bincount(folds(103, 5)).tolist() == [21, 21, 21, 20, 20]
    assert folds(50, 5).tolist() == folds(50, 5).tolist() != folds(50, 5, seed=3).tolist()
    assert calibration.BINS == 10


ROWS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12)


@given(ROWS)
def test_auroc_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool]]) -> None:
    good, bad = ([score for score, label in rows if label == wanted] for wanted in (True, False))
    scores, labels = np.array([float(score) for score, _ in rows]), np.array([float(label) for _, label in rows])
    if not good or not bad:
        with pytest.raises(ValueError, match="both labels"):
            calibration.auroc(scores, labels)
        return
    ordered = [(one > other) + 0.5 * (one == other) for one in good for other in bad]
    assert calibration.auroc(scores, labels) == pytest.approx(sum(ordered) / len(ordered))


@given(ROWS, st.integers(1, 4))
def test_an_isotonic_function_rises_and_keeps_the_mean(rows: list[tuple[int, bool]], least: int) -> None:
    scores, labels = np.array([float(score) for score, _ in rows]), np.array([float(label) for _, label in rows])
    found = calibration.fit_isotonic(scores, labels, least)
    assert list(found.scores) == sorted(found.scores) and list(found.values) == sorted(found.values)
    assert min(found.values) >= labels.min() and max(found.values) <= labels.max()
    assert all(0 <= value <= 1 for value in found(np.linspace(-1, 7, 20)))
    if len(found.values) == 1:
        assert found.values[0] == pytest.approx(labels.mean())
