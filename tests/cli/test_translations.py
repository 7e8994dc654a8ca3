"""What `dragoman translate` prints of assessments, and what it refuses."""

import json
from pathlib import Path
from shutil import copytree

import pytest
from tests.jobs.test_calibrate import ASSIGNMENTS, half_right
from tests.tiny import Trained, dragoman, refusal

from dragoman.cli import translate
from dragoman.cli.translations import Shown
from dragoman.inference.confidence.alarms import Alarm
from dragoman.inference.confidence.assessor import Assessment
from dragoman.inference.confidence.evidence import PassSettings
from dragoman.inference.translation import Translation
from dragoman.jobs.calibrate import calibrate, from_corpus

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
    assert line(align=True, confidence=True) == "a b |||  ||| 0.250"
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


@pytest.mark.parametrize("option", ["--alarms", "--confidence", "--rescue", "--report=a.html"])
def test_engines_that_cannot_assess_are_refused(trained: Trained, tmp_path: Path, option: str) -> None:
    run = trained("transformer")
    assert "use `--engine torch`" in refusal("translate", run, option, "--engine", "ctranslate2")
    (tmp_path / "export.json").write_text("{}")
    assert "cannot assess" in refusal("translate", tmp_path, option)


def test_a_rescue_of_several_translations_is_refused(trained: Trained) -> None:
    assert "remove --n-best" in refusal("translate", trained("transformer"), "--rescue", "--n-best", 2)


def test_a_report_holds_every_line_in_order_and_leaves_the_output_as_it_is(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path(copytree(trained("transformer", *ASSIGNMENTS), tmp_path / "run"))
    calibrate(
        run, passes=PassSettings(), learn_from=from_corpus(half_right(run), most=80, threshold=None, say=lambda _: None)
    )
    lines, path = "I <b>love</b> cats.\n\nIn 1998.\nNo.\n", tmp_path / "a.html"
    monkeypatch.setattr(translate, "CHUNK", 3)
    found = dragoman("translate", run, "--report", path, stdin=lines)
    assert (found.code, found.errors.splitlines()) == (0, [f"The report is in {path}"])
    assert found.lines == dragoman("translate", run, stdin=lines).lines
    page = path.read_text(encoding="utf-8")
    assert [f'id="sentence-{number}"' in page for number in range(6)] == [False, True, True, True, True, False]
    assert "I &lt;b&gt;love&lt;/b&gt; cats." in page and '<mark title="number lost">1998.</mark>' in page
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_report_that_cannot_be_made_is_refused_at_once(trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer")
    assert f"make one with `dragoman calibrate {run}`" in refusal("translate", run, "--report", tmp_path / "a.html")
    assert "name it so" in refusal("translate", run, "--report", tmp_path / "a.pdf")
    assert "check that its folder exists" in refusal("translate", run, "--report", tmp_path / "none" / "a.html")
    assert list(tmp_path.iterdir()) == []
