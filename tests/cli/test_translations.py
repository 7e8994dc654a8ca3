"""What `dragoman translate` prints of assessments, and what it refuses."""

import json
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal

from dragoman.cli.translations import Shown
from dragoman.inference.confidence.alarms import Alarm
from dragoman.inference.confidence.assessor import Assessment
from dragoman.inference.translation import Translation

ASSESSED = Translation(
    "a b",
    -1.0,
    -2.0,
    assessment=Assessment((Alarm("omission", ("x", "y")), Alarm("copied")), 0.25, (("a", 0.5), ("b", 1.0))),
)


def test_columns_and_objects_hold_what_was_asked_for() -> None:
    def line(translation: Translation = ASSESSED, *, numbered: bool = False, **shown: bool) -> str:
        return Shown(**shown).line(3, translation, view=None, numbered=numbered)

    assert line() == "a b"
    assert line(confidence=True, alarms=True) == "a b ||| 0.250 ||| omission: x y; copied"
    assert line(alarms=True, numbered=True) == "3 ||| a b ||| omission: x y; copied ||| -1.000000"
    table = json.loads(line(confidence=True, as_json=True))
    assert (table["confidence"], table["words"]) == (0.25, [["a", 0.5], ["b", 1.0]])
    assert table["alarms"] == [{"name": "omission", "words": ["x", "y"]}, {"name": "copied", "words": []}]
    assert set(json.loads(line(alarms=True, as_json=True))) == {"line", "translation", "score", "log_prob", "alarms"}
    empty = Translation("", 0.0, 0.0, assessment=Assessment(replaced="z"))
    assert line(empty, confidence=True) == " ||| "
    assert json.loads(line(empty, confidence=True, as_json=True))["replaced"] == "z"


def test_alarms_need_no_calibration(trained: Trained) -> None:
    run = trained("transformer")
    rows = [json.loads(line) for line in dragoman("translate", run, "--alarms", "--json", stdin="In 1998.\n\n").lines]
    assert all(set(row) == {"line", "translation", "score", "log_prob", "alarms"} for row in rows)
    assert any(alarm["words"] == ["1998"] for alarm in rows[0]["alarms"]) and rows[1]["alarms"] == []


def test_a_rescue_says_how_many_it_cured(trained: Trained) -> None:
    found = dragoman("translate", trained("transformer"), "--rescue", stdin="In 1998.\nI love cats.\n")
    assert found.code == 0 and len(found.lines) == 2
    assert "a rescue cured" in found.errors


@pytest.mark.parametrize("option", ["--alarms", "--confidence", "--rescue"])
def test_engines_that_cannot_assess_are_refused(trained: Trained, tmp_path: Path, option: str) -> None:
    run = trained("transformer")
    assert "use `--engine torch`" in refusal("translate", run, option, "--engine", "ctranslate2")
    (tmp_path / "export.json").write_text("{}")
    assert "cannot assess" in refusal("translate", tmp_path, option)


def test_a_rescue_of_several_translations_is_refused(trained: Trained) -> None:
    assert "remove --n-best" in refusal("translate", trained("transformer"), "--rescue", "--n-best", 2)
