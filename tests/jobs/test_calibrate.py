"""The job behind `dragoman calibrate`."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from tests.tiny import Trained

from dragoman.data.corpus import Pair
from dragoman.errors import InputError, RunError
from dragoman.inference.confidence.alarms import ALARMS, AlarmLimits
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.confidence.calibration import FILE, checksum_of, path_of, read_calibration
from dragoman.inference.confidence.evidence import PassSettings
from dragoman.inference.translator import Translator
from dragoman.jobs import calibrate as job
from dragoman.jobs.calibrate import calibrate, dev_pairs, from_corpus, from_judgements, picture_of, read_judgement
from dragoman.runs.lock import run_lock

ASSIGNMENTS = ("data.dev=[{phrasebook: dev, pairs: 80}]",)


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """A run of one's own with 80 dev sentences."""
    return Path(copytree(trained("transformer", *ASSIGNMENTS), tmp_path / "run"))


def half_right(*runs: Path) -> list[Pair]:
    """Return dev pairs, every other one with the runs' own translation as its reference: a tiny run gets nothing else right."""
    pairs = dev_pairs(runs[0])
    own = Translator.load(*runs).translate([pair.source for pair in pairs])
    return [
        pair._replace(target=one.text) if number % 2 else pair
        for number, (pair, one) in enumerate(zip(pairs, own, strict=True))
    ]


def test_a_run_learns_from_references(run: Path) -> None:
    said: list[str] = []
    learn = from_corpus(half_right(run), most=70, threshold=None, say=said.append)
    made = calibrate(run, passes=PassSettings(samples=2), learn_from=learn)
    assert read_calibration(run) == made
    assert "Translating 70 sentences." in said
    assert made.reliability.labels == 70 and 0.05 <= made.reliability.good <= 0.95
    assert sum(one.count for one in made.reliability.bins) == 70
    assert {"agreement", "support", "log-probability"} <= set(made.sentences.features)
    assert made.words is not None and made.word_reliability is not None
    assert made.limits != AlarmLimits()
    assert set(made.false_alarms) == set(ALARMS) and max(made.false_alarms.values()) <= 0.2
    assert picture_of(run) == run / "calibration.svg" and picture_of(run).read_text().startswith("<svg")
    (one,) = Assessor.load(run).assess(["I love cats."], ["Tôi yêu mèo."])
    assert one.confidence is not None and 0 <= one.confidence <= 1 and len(one.words) == 3
    before = (run / FILE).read_bytes()
    calibrate(run, passes=PassSettings(samples=2), learn_from=learn)
    assert (run / FILE).read_bytes() == before


def test_an_ensemble_has_a_calibration_of_its_own(run: Path, trained: Trained, tmp_path: Path) -> None:
    other = Path(copytree(trained("rnn"), tmp_path / "other"))
    alone = calibrate(
        run, passes=PassSettings(), learn_from=from_corpus(half_right(run), most=80, threshold=None, say=print)
    )
    learn = from_corpus(half_right(run, other), most=80, threshold=None, say=print)
    made = calibrate(run, other, passes=PassSettings(), learn_from=learn)
    assert read_calibration(run, other) == made and made.weights != alone.weights
    assert read_calibration(run) == alone and read_calibration(other) is None and read_calibration(other, run) == made
    assert path_of(run, other).parent == run and picture_of(run, other).read_text().startswith("<svg")
    assert checksum_of(run, other) == checksum_of(other, run) == made.weights
    assert Assessor.load(run, other).assess(["I love cats."], ["Tôi yêu mèo."])[0].confidence is not None
    changed = Path(copytree(trained("rnn", "training.steps=2"), tmp_path / "changed" / "other"))
    with pytest.raises(
        RunError, match=f"other weights than {run} and {changed}; make it .*`dragoman calibrate {run} {changed}`"
    ):
        read_calibration(run, changed)
    path_of(run, other).write_text(path_of(run, other).read_text().replace("0", "1", 1))
    with pytest.raises(RunError, match="is damaged"):
        read_calibration(other, run)
    with pytest.raises(InputError, match=f"{run} is given twice"):
        calibrate(run, run, passes=PassSettings(), learn_from=learn)
    with run_lock(other), pytest.raises(InputError, match=f"{other} is being trained"):
        calibrate(run, other, passes=PassSettings(), learn_from=learn)


def test_a_run_learns_from_judgements(run: Path, tmp_path: Path) -> None:
    pairs = dev_pairs(run)
    lines = [f"{pair.source}\t{pair.target}\t1\n" for pair in pairs[:40]]
    lines += [f"{pair.source}\t{other.target}\t0\n" for pair, other in zip(pairs[:40], pairs[40:], strict=True)]
    (tmp_path / "judged.tsv").write_text("".join(lines), encoding="utf-8")
    made = calibrate(run, passes=PassSettings(), learn_from=from_judgements(tmp_path / "judged.tsv"))
    assert (made.reliability.labels, made.reliability.good, made.good) == (80, 0.5, "judged good in judged.tsv")
    assert made.words is None
    assert made.limits == AlarmLimits()  # 40 good ones say nothing about one in fifty
    soft = [line.replace("\t0\n", "\t0.25\n") for line in lines]
    (tmp_path / "judged.tsv").write_text("".join(soft), encoding="utf-8")
    softly = calibrate(run, passes=PassSettings(), learn_from=from_judgements(tmp_path / "judged.tsv"))
    assert softly.reliability.auroc is None and softly.reliability.good == pytest.approx(0.625)


@pytest.mark.parametrize("line", ["a\tb", "a\tb\tgood", "a\tb\t2", "a\tb\tnan", "a\tb\t1\tc", ""])
def test_what_is_no_judgement_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"^file, line 7 is not a judgement; write the source"):
        read_judgement(line, "file, line 7")


def test_too_few_or_equal_labels_are_refused(run: Path) -> None:
    with pytest.raises(InputError, match=r"there are 20 translations"):
        from_corpus(dev_pairs(run), most=20, threshold=None, say=lambda _: None)
    learn = from_corpus(dev_pairs(run), most=80, threshold=100.0, say=lambda _: None)
    with pytest.raises(
        InputError, match=r"\(sentence chrF of at least 100\).*change --threshold, .* with --on, or judge"
    ):
        calibrate(run, passes=PassSettings(), learn_from=learn)
    assert not (run / FILE).exists() and not picture_of(run).exists()


def test_a_reverse_run_adds_a_feature_and_must_be_the_reverse(run: Path, trained: Trained) -> None:
    learn = from_corpus(dev_pairs(run), most=80, threshold=None, say=lambda _: None)
    with pytest.raises(InputError, match="would translate from vi to en"):
        calibrate(run, passes=PassSettings(), learn_from=learn, reverse=run)
    back = trained("transformer", "data.source=vi", "data.target=en", "training.steps=2")
    made = calibrate(run, passes=PassSettings(erasure=False), learn_from=learn, reverse=back)
    assert "reverse" in made.sentences.features and "support" not in made.sentences.features
    assert json.loads((run / FILE).read_text())["reverse"] == str(back.resolve())
    assert Assessor.load(run).assess(["I love cats."], ["Tôi yêu mèo."])[0].confidence is not None


def test_other_sources_add_a_feature_and_are_kept(run: Path, tmp_path: Path) -> None:
    pairs = half_right(run)
    learn = from_corpus(pairs, most=80, threshold=None, say=lambda _: None, others=3)
    made = calibrate(run, passes=PassSettings(erasure=False), learn_from=learn)
    assert "contrast" in made.sentences.features
    assert len(set(made.others)) == 4 and set(made.others) <= {pair.source for pair in pairs}
    assert Assessor.load(run).others == made.others
    assert Assessor.load(run).assess([made.others[0]], ["Tôi yêu mèo."])[0].confidence is not None
    judged = tmp_path / "judged.tsv"
    judged.write_text("".join(f"a\tb {row}\t{row % 2}\n" for row in range(60)), encoding="utf-8")
    with pytest.raises(InputError, match=r"--others is 1, but there are only 1 different sources"):
        calibrate(run, passes=PassSettings(), learn_from=from_judgements(judged, others=1))


def test_words_are_right_where_the_reference_has_them_in_order() -> None:
    assert job.same_words(["a", "b", "c", "d"], ["b", "c", "x", "d", "a"]) == [0, 1, 1, 1]
    assert job.same_words([], ["a"]) == []


def test_pairs_with_an_empty_side_are_left_out(run: Path) -> None:
    pairs = [*dev_pairs(run)[:60], *[Pair("", "a", ""), Pair("a", " ", "")] * 5]
    learn = from_corpus(pairs, most=1000, threshold=None, say=lambda _: None)
    assert len(learn(Assessor.load(run)).labels) == 60


def test_the_threshold_is_50_unless_that_divides_badly() -> None:
    assert job.choose_threshold(np.array([30.0, 60.0])) == 50
    assert job.choose_threshold(np.array([60.0, 80.5, 90.0])) == 80
