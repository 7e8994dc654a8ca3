"""Assessments of translations, one's own and others."""

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from tests.inference.confidence.test_calibration import made
from tests.inference.confidence.test_features import evidence
from tests.tiny import Trained

from dragoman.data.directions import Directions
from dragoman.errors import InputError, RunError
from dragoman.inference.confidence.alarms import Alarm, AlarmLimits
from dragoman.inference.confidence.assessor import Assessment, Assessor
from dragoman.inference.confidence.calibration import checksum_of
from dragoman.inference.confidence.features import sentence_features
from dragoman.inference.requests import EncodedRequest, Request
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.metrics.calibration import Isotonic, Logistic
from dragoman.text.frames import Between

SOURCES = ["I love cats.", "", "This is a book."]


def test_translations_are_the_same_with_an_assessment(trained: Trained) -> None:
    run = trained("transformer")
    plain = Translator.load(run, n_best=2).translate(SOURCES)
    assessed = Assessor.load(run, n_best=2).translate(SOURCES)
    for one, other in zip(plain, assessed, strict=True):
        assert (one.text, one.score) == (other.text, other.score)
        assert [a.text for a in one.alternatives] == [a.text for a in other.alternatives]
        for each in (other, *other.alternatives):
            assert isinstance(each.assessment, Assessment)
            assert (each.assessment.confidence, each.assessment.words) == (None, ())
    assert assessed[1].assessment == Assessment()


def test_given_translations_are_assessed_as_ones_own(trained: Trained) -> None:
    assessor = Assessor.load(trained("transformer"))
    (found,) = assessor.translate(SOURCES[:1])
    assert assessor.assess(SOURCES[:1], [found.text]) == [found.assessment]
    (lost,) = assessor.assess(["The 1998 book."], ["Sách sách sách sách sách sách."])
    assert {"repetition", "number lost"} <= {alarm.name for alarm in lost.alarms}


def test_a_number_that_was_put_in_place_of_an_unknown_word_is_not_lost(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(trained("transformer"))
    codec, text = translator.target, "Sách 1998."
    made = Translation(text, -1.0, -1.0, ids=tuple(codec.encode(text)))
    assert codec.special.unk in made.ids and "1998" not in codec.decode(made.ids)
    monkeypatch.setattr(translator, "translate", lambda *_, **_options: [made])
    (found,) = Assessor(translator).translate(["Book 1998."], replace_unknowns=True)
    assert "number lost" not in {alarm.name for alarm in found.assessment.alarms}


def test_an_empty_translation_and_one_of_nothing_are_flagged(trained: Trained) -> None:
    assessor = Assessor.load(trained("transformer"))
    nothing, lost, made_up = assessor.assess(["", "a", ""], ["", "", "x"])
    assert nothing == Assessment() and not nothing.flagged
    assert lost.alarms == (Alarm("too short"),) and lost.flagged
    assert made_up.alarms == (Alarm("detached"),) and made_up.flagged


def test_a_calibration_turns_features_into_confidence(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    assessor = Assessor.load(folder)
    (evidence,) = assessor.observe(assessor.translator.requests(["I love cats."], ["Tôi yêu mèo."]))
    assert evidence is not None
    value = sentence_features(evidence, ("en", "vi"))["log-probability"]
    scale = {"features": ("log-probability",), "logistic": Logistic((value,), (1.0,), (2.0,), 0.0), "isotonic": None}
    words = scale | {"isotonic": Isotonic((0.0, 1.0), (0.25, 0.25))}
    made(folder).model_copy(
        update={"sentences": made(folder).sentences.model_copy(update=scale), "passes": assessor.passes}
        | {"words": made(folder).sentences.model_copy(update=words)}
    ).write(folder)
    (found,) = Assessor.load(folder).assess(["I love cats."], ["Tôi yêu mèo."])
    assert found.confidence == pytest.approx(0.5, abs=1e-3)
    assert found.words == (("Tôi", 0.25), ("yêu", 0.25), ("mèo.", 0.25))
    assert Assessor.load(folder).limits.omission == 7.0
    (nothing,) = Assessor.load(folder).assess(["I love cats."], [""])
    assert (nothing.confidence, nothing.words) == (0.0, ())


def test_a_calibration_is_for_one_direction(trained: Trained) -> None:
    run = trained("rnn", "data.train.0.both_ways=true")
    assessor = Assessor.load(run)
    scale = {"features": ("log-probability",), "logistic": Logistic((0.0,), (1.0,), (2.0,), 0.0), "isotonic": None}
    plain = made(run)
    calibration = plain.model_copy(update={"sentences": plain.sentences.model_copy(update=scale)})
    assessor.calibration = calibration
    assessor.limits = AlarmLimits(copied=9.0)
    copies = ["a cat sleeps in the house"]
    (own,) = assessor.assess(copies, copies, to=Between("en", "vi"))
    assert own.confidence is not None and "copied" not in {alarm.name for alarm in own.alarms}
    (other,) = assessor.assess(copies, copies, to=Between("vi", "en"))
    assert other.confidence is None and "copied" in {alarm.name for alarm in other.alarms}
    (empty,) = assessor.assess(["a"], [""], to=Between("vi", "en"))
    assert empty.confidence is None and empty.flagged
    assert assessor.require_calibration(Between("en", "vi")) is calibration
    with pytest.raises(
        InputError, match="calibrated from en to vi, which says nothing from vi to en; ask for alarms only"
    ):
        assessor.require_calibration(Between("vi", "en"))


@pytest.mark.parametrize(("to", "lost"), [("fr", True), ("it", False)])
def test_german_is_expected_where_it_was_learned_to_be_translated(
    to: str, lost: bool, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(trained("transformer"))
    ways = (("en", "de"), ("en", "fr"), ("de", "it"), ("en", "it"))
    monkeypatch.setattr(translator, "directions", Directions(ways, tagged=True))
    request = EncodedRequest(
        Request("we like London", target="a b c", between=Between(None, to)), ([4, 5, 6],), target=[4, 5, 6]
    )
    monkeypatch.setattr(
        Assessor, "observe", lambda *_: [evidence("we like London", "a b c", erased=np.full((3, 4), 0.1))]
    )
    (found,) = Assessor(translator).assess_requests([request])
    assert ("name lost" in {alarm.name for alarm in found.alarms}) == lost


def test_no_calibration_is_refused_with_advice(trained: Trained) -> None:
    run = trained("transformer")
    with pytest.raises(InputError, match=r"has no calibration.*`dragoman calibrate ") as error:
        Assessor.load(run).require_calibration()
    assert str(run) in str(error.value)
    with pytest.raises(InputError, match=r"the ensemble of .* has no calibration.*`dragoman calibrate .* .*`") as error:
        Assessor.load(run, trained("rnn")).require_calibration()
    assert str(trained("rnn")) in str(error.value)


def test_a_reverse_run_that_changed_is_refused(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    made(folder).model_copy(update={"reverse": str(tmp_path / "away"), "reverse_weights": "0"}).write(folder)
    with pytest.raises(RunError, match="which is missing or has changed; make it again"):
        Assessor.load(folder)
    other = trained("rnn")
    weights = checksum_of(folder, other)
    away = {"weights": weights, "reverse": str(tmp_path / "away"), "reverse_weights": "0"}
    made(folder).model_copy(update=away).write(folder, other)
    with pytest.raises(RunError, match=f"changed; make it again with `dragoman calibrate {folder} {other}`"):
        Assessor.load(folder, other)


def test_an_alarm_or_little_confidence_flags() -> None:
    assert Assessment(confidence=0.4).flagged and Assessment((Alarm("detached"),), 0.9).flagged
    assert not Assessment(confidence=0.5).flagged and not Assessment().flagged


def test_sentences_may_come_one_by_one(trained: Trained) -> None:
    assessor = Assessor.load(trained("transformer"))
    assert assessor.translate(iter(SOURCES)) == assessor.translate(SOURCES)
