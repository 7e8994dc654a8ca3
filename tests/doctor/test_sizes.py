"""Corpora and lines of the wrong size."""

from pathlib import Path
from typing import Any

import pytest
from tests.doctor.conftest import Examined, good

from dragoman.data.settings import DataSettings, FilterSettings
from dragoman.doctor.examine import examine
from dragoman.doctor.sizes import Limits
from dragoman.settings import parse

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


def test_words_without_spaces_between_them_count_as_data(examined: Examined) -> None:
    pairs = [(source, "我们" * 20 + target[:9]) for source, target in good(2500)]
    found = examined(pairs, languages=("en", "zh"), every=True, limits=Limits(FilterSettings(), weights=5_000_000))
    assert "too-little-data" not in [one.name for one in found]


def test_little_data_may_teach_more_to_a_trained_model(examined: Examined) -> None:
    limits = Limits(FilterSettings(), weights=60_000_000, trained=True)
    assert "too-little-data" not in [one.name for one in examined(good(300), every=True, limits=limits)]


def test_a_training_corpus_of_which_nothing_is_left_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\tun\n", encoding="utf-8")
    held = {"tsv": "a.tsv", "hold_out": {"modulo": 10**9, "keep": "held"}}
    found = examine(parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": [held]}))
    assert [one.what for one in found.of("warning")] == ["has 0 pairs, too few for a translator"]


@pytest.mark.parametrize(
    ("dev", "errors"),
    [
        ({"tsv": "a.tsv", "hold_out": {"modulo": 10**9, "keep": "held"}}, []),
        ({"jsonl": "other.jsonl"}, ["unreadable-object"]),
    ],
)
def test_a_dev_corpus_of_which_nothing_is_left_is_a_warning(
    dev: dict[str, Any], errors: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in good(300)), encoding="utf-8")
    (tmp_path / "other.jsonl").write_text('{"source": "a", "target": "b"}\n' * 30, encoding="utf-8")
    table = {"source": "en", "target": "fr", "root": tmp_path, "train": [{"tsv": "a.tsv"}], "dev": [dev]}
    found = examine(parse(DataSettings, table))
    assert [one.name for one in found.of("error")] == errors
    (few,) = [one for one in found.findings if one.name == "too-few-to-decide"]
    assert few.severity == "warning" and "has no pairs, or `hold_out` keeps none" in few.what
