"""What `dragoman calibrate` learns about a run, or an ensemble: how features become a probability. A file of the run's folder."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dragoman.data.checksums import weights_digest
from dragoman.data.ledger import check, write_recorded
from dragoman.errors import DamagedError, RunError, SettingsError, shell_path
from dragoman.inference.confidence.alarms import AlarmLimits
from dragoman.inference.confidence.evidence import PassSettings
from dragoman.json_files import load_json
from dragoman.metrics.calibration import Bin, Isotonic, Logistic, fit_isotonic, fit_logistic, folds
from dragoman.settings import Settings, parse

FILE = "calibration.json"
"""File of a run folder; that of an ensemble, in the folder of its first run, has the names of the other runs in its own."""
FORMAT = 2
ENOUGH = 1000
"""Labels from which on the logistic curve is bent by isotonic regression; of fewer, that would learn chance."""
BLOCK = 40
"""Minimum labels of a block of isotonic regression."""
PARTS = 5
"""Parts of cross-validation."""
RIDGES = (1.0, 10.0, 100.0)
"""Penalties to choose from: few labels need a large one."""
FAVOURABLE = 2.0
"""No feature speaks more for a translation than at so many deviations from the mean: what is odder was hardly seen, and in a text
unlike all that was learned from, several such features would add up to near certainty. Against it, they go on to speak."""


class Scale(Settings):
    """Turns named features into a probability: logistic regression, then isotonic regression where labels are many."""

    features: tuple[str, ...]
    logistic: Logistic
    isotonic: Isotonic | None = None

    def __call__(self, rows: Sequence[Mapping[str, float]]) -> Float[np.ndarray, " row"]:
        """Return the probability for each row of features."""
        if not rows:
            return np.zeros(0)
        found = self.logistic(np.array([[row[name] for name in self.features] for row in rows]))
        return found if self.isotonic is None else self.isotonic(found)


class Reliability(Settings):
    """What cross-validation says of a scale: no label was predicted by a scale that had learned from it."""

    labels: int
    """Number of labels."""
    good: float
    """Share of them that are 1, or their mean."""
    error: float
    """Expected calibration error."""
    chance: float
    """The error that perfect probabilities would have on so many labels."""
    auroc: float | None
    """Probability that a good one has a higher confidence than a bad one; None if labels are shares."""
    alone: float | None
    """The same for the mean log-probability alone."""
    bins: tuple[Bin, ...]


class Calibration(Settings):
    """Everything in the file."""

    format: int = FORMAT
    weights: str
    """Checksum of the weights that it was made with, as `checksum_of` returns it."""
    passes: PassSettings
    others: tuple[str, ...] = ()
    """Other sources that translations are scored with too."""
    reverse: str | None = None
    """Run of the opposite direction that gave a feature: a path."""
    reverse_weights: str | None = None
    """Checksum of its weights."""
    good: str
    """What a confidence is the probability of."""
    limits: AlarmLimits
    false_alarms: dict[str, float]
    """Share of the reference translations that raise each alarm."""
    sentences: Scale
    reliability: Reliability
    words: Scale | None = None
    word_reliability: Reliability | None = None

    def write(self, *folders: Path) -> None:
        """Write the file of a run, or of an ensemble, into the folder of the first."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
        write_recorded(folders[0], path_of(*folders), text)


def checksum_of(*folders: Path) -> str | None:
    """Return the checksum of a run's weights, or of those of an ensemble, whose order does not count. None without one."""
    known = [weights_digest(folder / "model.safetensors") for folder in folders]
    if len(known) == 1:
        return known[0]
    given = sorted(one for one in known if one is not None)
    return hashlib.sha256(" ".join(given).encode("ascii")).hexdigest() if len(given) == len(known) else None


def path_of(*folders: Path) -> Path:
    """Return where the calibration of a run, or of an ensemble, is: in the folder of the first.

    >>> path_of(Path("runs/a")).name, path_of(Path("runs/a"), Path("runs/c"), Path("b")).name
    ('calibration.json', 'calibration+b+c.json')
    """
    others = sorted(folder.resolve().name for folder in folders[1:])
    return folders[0] / FILE.replace(".", "".join(f"+{name}" for name in others) + ".")


def command_for(*folders: Path) -> str:
    """Return the command that makes the calibration of a run, or of an ensemble."""
    return " ".join(["dragoman calibrate", *map(shell_path, folders)])


def read_calibration(*folders: Path) -> Calibration | None:
    """Read the calibration of a run, or of an ensemble, whichever of its runs has it; None if there is none.

    RunError if it is damaged, or made with other weights.
    """
    orders = [(first, *folders[:at], *folders[at + 1 :]) for at, first in enumerate(folders)]
    order = next((one for one in orders if path_of(*one).exists()), None)
    if order is None:
        return None
    path = path_of(*order)
    again = f"make it again with `{command_for(*order)}`"
    try:
        table = load_json(path)
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            raise RunError(f"{path} was not written by this version of Dragoman; {again}")
        found = parse(Calibration, table, str(path))
        check(order[0], path)
    except (ValueError, OSError, SettingsError, DamagedError):
        raise RunError(f"{path} is damaged; {again}") from None
    if found.weights != checksum_of(*folders):
        raise RunError(f"{path} belongs to other weights than {' and '.join(map(str, folders))}; {again}")
    return found


def fit_scale(rows: Sequence[Mapping[str, float]], labels: Float[np.ndarray, " row"]) -> Scale:
    """Learn a scale from rows of features and their labels, 0 to 1: logistic regression, bent by isotonic regression."""
    names = tuple(rows[0])
    logistic, unseen = fit_regularised(np.array([[row[name] for name in names] for row in rows]), labels)
    isotonic = fit_isotonic(unseen, labels, BLOCK) if len(labels) >= ENOUGH else None
    return Scale(features=names, logistic=logistic, isotonic=isotonic)


def fit_regularised(
    table: Float[np.ndarray, "row feature"], labels: Float[np.ndarray, " row"]
) -> tuple[Logistic, Float[np.ndarray, " row"]]:
    """Return a logistic regression of how good rows are, 0 to 1, and what it predicts for each row if it did not learn from it.

    The ridge penalty is the one whose predictions of unseen rows have the smallest log-loss.
    """
    parts = folds(len(labels), PARTS, seed=2)
    unseen = {ridge: np.zeros(len(labels)) for ridge in RIDGES}
    for ridge, predicted in unseen.items():
        for part in range(PARTS):
            fitted = fit_logistic(table[parts != part], labels[parts != part], ridge, favourable=FAVOURABLE)
            predicted[parts == part] = fitted(table[parts == part])
    chosen = min(RIDGES, key=lambda ridge: _log_loss(unseen[ridge], labels))
    return fit_logistic(table, labels, chosen, favourable=FAVOURABLE), unseen[chosen]


def _log_loss(predicted: Float[np.ndarray, " row"], labels: Float[np.ndarray, " row"]) -> float:
    """Return the mean negative log-likelihood of the labels."""
    sure = np.clip(predicted, 1e-9, 1 - 1e-9)
    return float(-(labels * np.log(sure) + (1 - labels) * np.log(1 - sure)).mean())


def predict_unseen(
    rows: Sequence[Mapping[str, float]], labels: Float[np.ndarray, " row"], groups: Sequence[int]
) -> Float[np.ndarray, " row"]:
    """Return what scales that have seen no row of the same group predict for each row."""
    predicted = np.zeros(len(labels))
    numbers = np.array(groups)
    own = folds(int(numbers.max()) + 1, PARTS)[numbers]
    for part in range(PARTS):
        known = [row for row, number in zip(rows, own.tolist(), strict=True) if number != part]
        asked = [row for row, number in zip(rows, own.tolist(), strict=True) if number == part]
        if asked:
            predicted[own == part] = fit_scale(known, labels[own != part])(asked)
    return predicted
