"""Corpora and lines of the wrong size."""

from tests.doctor.conftest import Examined, good

from dragoman.data.settings import FilterSettings
from dragoman.doctor.sizes import Limits

SHORT = FilterSettings(max_words=20, max_characters=None)


def test_lines_that_the_filters_leave_out_are_counted(examined: Examined) -> None:
    pairs = good(300)
    pairs[8] = ("a " * 21, "b " * 21)
    found = [one for one in examined(pairs, limits=Limits(SHORT)) if one.name == "too-long"]
    assert [(one.line, one.count) for one in found] == [(9, 1), (9, 1)]
    assert not [one for one in examined(pairs) if one.name == "too-long"]


def test_lines_that_the_model_cannot_take_are_a_warning(examined: Examined) -> None:
    pairs = good(300)
    pairs[8] = ("a " * 12, "b " * 8)
    found = [one for one in examined(pairs, limits=Limits(SHORT, (12, None))) if one.name == "longer-than-model"]
    assert [(one.line, one.severity) for one in found] == [(9, "warning")]
    limits = Limits(SHORT, (None, 20), by_character=True)
    assert [one.count for one in examined(pairs, limits=limits) if one.name == "longer-than-model"] == [300, 299]


def test_little_data_is_a_warning(examined: Examined) -> None:
    found = examined(good(300), good(100, first=5000), every=True)
    words = {one.name: one.what for one in found if one.severity == "warning"}
    assert words["too-few-to-decide"] == "has 100 pairs: BLEU varies by about 4 points by chance"
    assert "has 300 pairs, too few" in words["too-little-data"]
    enough = examined(good(2500), good(200, first=5000), every=True)
    assert not {"too-few-to-decide", "too-little-data"} & {one.name for one in enough}


def test_a_model_that_is_too_large_is_a_warning(examined: Examined) -> None:
    limits = Limits(FilterSettings(), weights=60_000_000)
    (found,) = [one for one in examined(good(2500), every=True, limits=limits) if one.name == "too-little-data"]
    assert "too few for a model of 60,000,000 weights" in found.what


def test_little_data_may_teach_more_to_a_trained_model(examined: Examined) -> None:
    limits = Limits(FilterSettings(), weights=60_000_000, trained=True)
    assert "too-little-data" not in [one.name for one in examined(good(300), every=True, limits=limits)]
