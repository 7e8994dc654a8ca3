"""Calibrations: learned, kept, and refused where they do not belong."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from tests.tiny import Trained

from dragoman.data.checksums import weights_digest
from dragoman.data.ledger import record
from dragoman.errors import RunError
from dragoman.inference.confidence import calibration
from dragoman.inference.confidence.alarms import AlarmLimits
from dragoman.inference.confidence.calibration import (
    ENOUGH,
    FILE,
    PARTS,
    Calibration,
    Reliability,
    fit_scale,
    predict_unseen,
    read_calibration,
)
from dragoman.inference.confidence.evidence import PassSettings
from dragoman.metrics.calibration import auroc, error_by_chance, expected_calibration_error, fit_logistic, folds


def examples(count: int) -> tuple[list[dict[str, float]], np.ndarray]:
    """Make rows whose label depends on the first feature alone, and not through a logistic curve."""
    chance = np.random.default_rng(5)
    values = chance.normal(size=(count, 4))
    probability = np.where(values[:, 0] > 0, 0.9, 0.1)
    return [dict(zip("abcd", row.tolist(), strict=True)) for row in values], (
        chance.random(count) < probability
    ).astype(float)


def made(run: Path) -> Calibration:
    """Make a calibration of a run that has learned from noise."""
    rows, labels = examples(60)
    known = Reliability(labels=60, good=0.5, error=0.1, chance=0.1, auroc=0.5, alone=None, bins=())
    return Calibration(
        weights=weights_digest(run / "model.safetensors") or "",
        passes=PassSettings(samples=2),
        good="a test",
        limits=AlarmLimits(omission=7.0),
        false_alarms={"omission": 0.01},
        sentences=fit_scale(rows, labels),
        reliability=known,
    )


def test_confidence_is_as_high_as_the_share_of_good_ones() -> None:
    rows, labels = examples(3000)
    unseen = predict_unseen(rows, labels, range(len(rows)))
    assert expected_calibration_error(unseen, labels) < error_by_chance(unseen) + 0.03
    assert auroc(unseen, labels) > 0.85
    assert fit_scale(rows, labels).isotonic is not None
    assert fit_scale(rows[:400], labels[:400]).isotonic is None


def test_a_curve_is_bent_by_predictions_of_what_was_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = examples(ENOUGH)
    bent: list[np.ndarray] = []
    monkeypatch.setattr(calibration, "RIDGES", (10.0,))
    monkeypatch.setattr(calibration, "fit_isotonic", lambda scores, *_: bent.append(scores))
    part = folds(ENOUGH, PARTS, seed=2) == 0
    for known in (labels, np.where(part, 1 - labels, labels)):
        fit_scale(rows, known)
    assert np.array_equal(bent[0][part], bent[1][part]) and not np.isclose(bent[0], bent[1])[~part].any()


def test_what_is_odd_speaks_against_a_translation_and_not_for_it() -> None:
    chance = np.random.default_rng(6)
    values = chance.normal(size=(500, 6))
    labels = (values.sum(1) + 4 * chance.normal(size=500) > 0).astype(float)
    scale = fit_scale([dict(zip("abcdef", row.tolist(), strict=True)) for row in values], labels)
    far, high, low, lower = scale([dict.fromkeys("abcdef", value) for value in (20.0, 2.5, -2.5, -20.0)]).tolist()
    assert lower < low < 0.1 and 0.9 < high == far
    assert scale([dict(zip("abcdef", row.tolist(), strict=True)) for row in values]).mean() == pytest.approx(
        labels.mean(), abs=1e-6
    )


def test_nothing_is_predicted_by_what_has_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[set[float]] = []
    rows = [{"a": float(number)} for number in range(40)]
    groups = [number // 4 for number in range(40)]

    def spy(known, labels):  # type: ignore[no-untyped-def]
        learned.append({row["a"] // 4 for row in known})
        return lambda asked: np.array([float(row["a"] // 4 in learned[-1]) for row in asked])

    monkeypatch.setattr(calibration, "fit_scale", spy)
    assert predict_unseen(rows, np.zeros(40), groups).sum() == 0
    assert len(learned) == 5 and all(len(one) == 8 for one in learned)


def test_useless_features_are_given_little_weight() -> None:
    chance = np.random.default_rng(6)
    rows = [{f"noise {number}": float(chance.normal()) for number in range(30)} for _ in range(100)]
    labels = chance.integers(0, 2, 100).astype(float)
    careful, bold = (
        fit_scale(rows, labels).logistic,
        fit_logistic(np.array([list(row.values()) for row in rows]), labels),
    )
    assert np.square(careful.weights).sum() < np.square(bold.weights).sum() / 10
    assert len(fit_scale(rows, labels)([])) == 0


def test_a_file_keeps_everything(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    assert read_calibration(folder) is None
    written = made(folder)
    written.write(folder)
    assert read_calibration(folder) == written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": "0"}, "belongs to other weights"),
        ({"format": 1}, "was not written by this version"),
        ({"sentences": 3}, "is damaged"),
        ({"passes": {"dropout": -1}}, "is damaged"),
    ],
)
def test_what_does_not_fit_is_refused(
    trained: Trained, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    made(folder).write(folder)
    table = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(table | change))
    record(folder, [folder / FILE])
    with pytest.raises(RunError, match=message) as error:
        read_calibration(folder)
    assert f"dragoman calibrate {folder}" in str(error.value)


def test_a_file_that_is_no_json_is_refused(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    (folder / FILE).write_text("{")
    with pytest.raises(RunError, match="is damaged"):
        read_calibration(folder)
