"""Curves lie where their numbers say."""

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from dragoman.inspection.curves import draw_curves, thin, ticks

RECORDS: list[dict[str, Any]] = [
    {"step": 10, "loss": 6.0, "learning_rate": 0.001, "seconds": 1.0},
    {"step": 20, "loss": 3.0, "learning_rate": 0.002, "dev_loss": 2.5, "dev_bleu": 12.5},
    {"step": 30, "loss": 1.0, "learning_rate": 0.001},
    {"step": 40, "loss": 0.5, "learning_rate": 0.0005, "dev_loss": 1.5, "dev_bleu": 40.25},
]
SVG = "{http://www.w3.org/2000/svg}"


def texts_of(panel: str) -> list[str]:
    """Read the words and numbers of a panel."""
    return ["".join(element.itertext()) for element in ElementTree.fromstring(panel).iter(f"{SVG}text")]


def curves_of(panel: str) -> list[list[tuple[float, float]]]:
    """Read the points of each curve of a panel."""
    paths = [element.get("d") or "" for element in ElementTree.fromstring(panel).iter(f"{SVG}path")]
    return [
        [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)] for path in paths if "L" in path
    ]


def test_there_is_a_panel_for_loss_bleu_and_learning_rate() -> None:
    panels = draw_curves(RECORDS)
    assert [texts_of(panel)[0] for panel in panels] == ["Loss per token", "BLEU, development", "Learning rate"]


def test_what_was_never_recorded_is_left_out() -> None:
    (panel,) = draw_curves([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0, "dev_bleu": None}])
    assert texts_of(panel)[0] == "Loss per token"
    assert draw_curves([]) == ()


def test_points_lie_in_proportion_to_their_numbers() -> None:
    training, development = curves_of(draw_curves(RECORDS)[0])
    assert (len(training), len(development)) == (4, 2)
    (x10, y6), (x20, y3), (x30, y1), _ = training
    assert x20 - x10 == pytest.approx(x30 - x20, abs=0.2)
    assert (y3 - y6) / (y1 - y3) == pytest.approx(3 / 2, abs=0.05)
    assert y6 < y3 < y1


def test_points_lie_level_with_their_number_on_the_axis() -> None:
    (panel,) = draw_curves([{"step": 1, "dev_loss": -2.0}, {"step": 2, "dev_loss": 4.0}])
    numbers = {"".join(text.itertext()): text.get("y") for text in ElementTree.fromstring(panel).iter(f"{SVG}text")}
    assert [y for _, y in curves_of(panel)[0]] == [float(numbers["-2"] or 0), float(numbers["4"] or 0)]


def test_a_number_that_is_not_finite_leaves_a_gap() -> None:
    records = [{"step": step, "loss": loss} for step, loss in enumerate((3.0, math.nan, math.inf, 1.0))]
    (panel,) = draw_curves(records)
    assert [len(curve) for curve in curves_of(panel)] == [2]


def test_of_a_step_recorded_twice_the_later_counts() -> None:
    records = [{"step": 1, "loss": 4.0}, {"step": 2, "loss": 9.0}, {"step": 2, "loss": 2.0}]
    assert draw_curves(records) == draw_curves([records[0], records[2]])


def test_pointing_at_a_step_shows_its_numbers() -> None:
    assert "step 20: training 3, development 2.5" in texts_of(draw_curves(RECORDS)[0])
    assert "step 40: BLEU 40.2" in texts_of(draw_curves(RECORDS)[1])


def test_the_curves_are_told_in_words_for_screen_readers() -> None:
    label = ElementTree.fromstring(draw_curves(RECORDS)[0]).get("aria-label")
    assert label == "Loss per token by step: training from 6 to 0.5; development from 2.5 to 1.5"


def test_one_point_alone_is_drawn() -> None:
    (panel,) = draw_curves([{"step": 0, "dev_bleu": 0.0}])
    assert len(curves_of(panel)) == 1


def test_a_long_run_stays_a_small_picture_and_keeps_its_peaks_and_rare_numbers() -> None:
    records: list[dict[str, Any]] = [{"step": step, "loss": 1.0} for step in range(1, 50_001)]
    records[12_344]["loss"] = 8.0
    records[33_332]["dev_loss"] = 2.0
    (panel,) = draw_curves(records)
    assert len(panel) < 100_000
    assert "step 33,333: training 1, development 2" in texts_of(panel)
    heights = [y for _, y in curves_of(panel)[0]]
    assert min(heights) < max(heights)


def test_curves_below_zero_are_inside_the_axes() -> None:
    (panel,) = draw_curves([{"step": 1, "dev_loss": -2.0}, {"step": 2, "dev_loss": 3.0}])
    assert "-2" in texts_of(panel)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 4.3, [0, 1, 2, 3, 4, 5]),
        (0.0, 100.0, [0, 20, 40, 60, 80, 100]),
        (0.0, 0.0031, [0, 0.001, 0.002, 0.003, 0.004]),
        (0.0, 0.0, [0, 0.1]),
        (-1.2, 3.1, [-2, 0, 2, 4]),
        (7.0, 7.0, [7, 8]),
    ],
)
def test_ticks_are_round_and_enclose_the_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_thinning_keeps_both_ends_and_every_extreme() -> None:
    points = [(float(step), math.sin(step / 7)) for step in range(1000)]
    kept = thin(points, most=100)
    assert len(kept) <= 104
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert {max(points, key=lambda point: point[1]), min(points, key=lambda point: point[1])} <= set(kept)


def test_few_points_are_kept_as_they_are() -> None:
    assert thin([(0.0, 2.0), (1.0, 1.0)], most=2) == [(0.0, 2.0), (1.0, 1.0)]
