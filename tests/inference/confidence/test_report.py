"""A report shows what an assessor found, in the terms of its calibration."""

from pathlib import Path
from shutil import copytree

import pytest
from tests.inference.confidence.test_calibration import made
from tests.tiny import Trained

from dragoman.errors import InputError
from dragoman.inference.confidence.alarms import ALARMS, Alarm
from dragoman.inference.confidence.assessor import Assessment, Assessor
from dragoman.inference.confidence.report import write_confidence_report
from dragoman.inference.translation import Translation
from dragoman.inspection.confidence import EXPLAINED

LOST = Assessment((Alarm("number lost", ("1998",), (1,)),), 0.25, (("Ừ", 0.2), ("<unk>", 0.9)), "trước")


@pytest.fixture
def assessor(trained: Trained, tmp_path: Path) -> Assessor:
    """An assessor whose run has a calibration."""
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    made(folder).write(folder)
    return Assessor.load(folder)


def test_every_alarm_is_explained() -> None:
    assert tuple(EXPLAINED) == ALARMS


def test_a_report_shows_words_confidence_and_alarms(assessor: Assessor, tmp_path: Path) -> None:
    translations = [
        Translation("Ừ 1998.", -1.0, -1.0, assessment=LOST),
        Translation("", 0.0, 0.0, assessment=Assessment()),
    ]
    write_confidence_report(tmp_path / "a.html", assessor, ["In 1998, yes.", ""], translations=translations)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    for part in (
        'In <mark title="number lost">1998,</mark> yes.',
        '<span class="unlikely" title="20%">Ừ</span> <span class="likely" title="90%">1998.</span>',
        "Before the rescue: <bdi>trước</bdi>",
        f"good means here: {made(tmp_path / 'run').good}.",
        str(tmp_path / "run"),
        '<bdi lang="en" dir="ltr">',
        "empty line",
    ):
        assert part in page, part


def test_what_cannot_be_shown_is_refused(trained: Trained, assessor: Assessor, tmp_path: Path) -> None:
    path, one = tmp_path / "a.html", Translation("x", 0.0, 0.0, assessment=Assessment())
    with pytest.raises(InputError, match=r"dragoman calibrate"):
        write_confidence_report(path, Assessor.load(trained("transformer")), ["a"], translations=[one])
    with pytest.raises(InputError, match=r"2 sources and 1 translations"):
        write_confidence_report(path, assessor, ["a", "b"], translations=[one])
    with pytest.raises(InputError, match=r"translate with `Assessor.translate`"):
        write_confidence_report(path, assessor, ["a"], translations=[Translation("x", 0.0, 0.0)])
    with pytest.raises(InputError, match=r"check that its folder exists"):
        write_confidence_report(tmp_path / "none" / "a.html", assessor, ["a"], translations=[one])
    assert not path.exists()
