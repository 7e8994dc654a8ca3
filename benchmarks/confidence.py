"""What a run's confidence is worth: alarms on judged translations, and calibration on unseen text.

    python benchmarks/confidence.py alarms RUN FOLDER [--dropout N] [--samples N] [--reverse RUN] [--labels N]
    python benchmarks/confidence.py reliability RUN SOURCE REFERENCE
    python benchmarks/confidence.py rescue RUN SOURCE REFERENCE

`alarms` scores the translations of dev.csv in FOLDER, which another model made and people judged (Guerreiro et al. 2023), with a
German-English RUN, and prints the AUROC of each feature and of three combinations: no label (the mean rank of features whose
direction is known), and logistic regression by cross-validation over all rows, and on so many labels alone (200).
A feature that grows with errors counts as it is, others negated. `reliability` translates unseen text with a calibrated run and
prints the expected calibration error of its confidence; `rescue` prints chrF of flagged translations before and after. A row
that cannot be scored is counted and printed.
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.lines import read_lines
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.confidence.evidence import PassSettings
from dragoman.inference.confidence.features import sentence_features
from dragoman.inference.confidence.rescue import rescue
from dragoman.inference.translator import Translator
from dragoman.metrics.calibration import (
    auroc,
    error_by_chance,
    expected_calibration_error,
    fit_logistic,
    folds,
    reliability,
)
from dragoman.metrics.scores import chrf, sentence_chrf

Numbers = NDArray[np.float64]

DETACHED = ("strong-unsupport", "full-unsupport")
GROUPS: Mapping[str, Sequence[str]] = {
    "detached or repeated": ("repetitions", *DETACHED),
    "detached": DETACHED,
    "fully detached": ("full-unsupport",),
    "omission": ("omission",),
}
"""What is to be found, by the columns of dev.csv; omission is judged among all others, as the rest are."""
PUBLISHED = {"detached or repeated": 0.830, "detached": 0.842, "fully detached": 0.935}
"""AUROC of the mean log-probability of the model that made the translations (stopes, 01_Detection.ipynb)."""
FALLING = frozenset(
    {
        "whole source",
        "log-probability",
        "worst fifth",
        "length",
        "attention entropy",
        "dropout",
        "agreement",
        "reverse",
        "support",
    }
    | {"least support", "source gain"}
)
"""Features that are lower for errors."""
FREE = ("log-probability", "worst fifth", "deviation", "entropy", "length", "source words", "repetition", "copied")
FREE += ("numbers lost", "numbers added", "names added")
ATTENTION = ("attention elsewhere", "attention entropy", "unattended")
WITHOUT_LABELS = (
    "log-probability",
    "worst fifth",
    "whole source",
    "support",
    "repetition",
    "unsupported",
    "reverse",
    "dropout",
)
PARTS = 10


def alarms(options: argparse.Namespace) -> None:
    """Print the AUROC of each feature and of combinations."""
    with (options.folder / "dev.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    reverse = None if options.reverse is None else Translator.load(options.reverse)
    assessor = Assessor(Translator.load(options.run), reverse=reverse)
    assessor.passes = PassSettings(dropout=options.dropout, samples=options.samples)
    requests = assessor.translator.requests([row["src"] for row in rows], [row["mt"] for row in rows])
    observed = assessor.observe(requests)
    print(f"{len(rows)} translations, {sum(one is None for one in observed)} without a token, left out")
    rows = [row for row, one in zip(rows, observed, strict=True) if one is not None]
    features = [sentence_features(one, assessor.translator.languages) for one in observed if one is not None]
    names = list(features[0])
    table = np.array([[row[name] for name in names] for row in features])
    labels = {
        group: np.array([any(row[column] == "1" for column in columns) for row in rows], float)
        for group, columns in GROUPS.items()
    }
    print(f"\n| score | {' | '.join(f'{group} ({int(found.sum())})' for group, found in labels.items())} |")
    print("| --- |" + " --- |" * len(labels))
    for number, name in enumerate(names):
        sign = -1 if name in FALLING else 1
        line(name, {group: sign * table[:, number] for group in labels}, labels)
    line("mean rank, no labels", dict.fromkeys(labels, mean_rank(table, names)), labels)
    for title, chosen in (
        ("free features", FREE),
        ("free and attention", (*FREE, *ATTENTION)),
        ("all features", names),
    ):
        columns = [number for number, name in enumerate(names) if name in chosen]
        found = {group: unseen(table[:, columns], label) for group, label in labels.items()}
        line(f"{title}, cross-validated", found, labels)
    few = {group: from_few(table, label, options.labels) for group, label in labels.items()}
    line(f"all features, {options.labels} labels", few, labels)
    published = (f"{PUBLISHED[one]:.3f}" if one in PUBLISHED else "" for one in labels)
    print(f"| published, mean log-probability | {' | '.join(published)} |")


def line(name: str, scores: Mapping[str, Numbers], labels: Mapping[str, Numbers]) -> None:
    """Print one row of the table; rows whose score is not a number were learned from, and do not count."""
    cells = []
    for group, label in labels.items():
        known = ~np.isnan(scores[group])
        cells.append(f"{auroc(scores[group][known], label[known]):.3f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def mean_rank(table: Numbers, names: Sequence[str]) -> Numbers:
    """Return the mean over some features of the rank of each row, errors last."""
    ranks = []
    for number, name in enumerate(names):
        if name in WITHOUT_LABELS:
            values = -table[:, number] if name in FALLING else table[:, number]
            _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
            ranks.append((np.cumsum(sizes) - (sizes - 1) / 2)[place])
    return np.mean(ranks, axis=0)


def unseen(table: Numbers, labels: Numbers) -> Numbers:
    """Return what logistic regressions on the other parts predict for each part."""
    parts, predicted = folds(len(labels), PARTS), np.zeros(len(labels))
    for part in range(PARTS):
        fitted = fit_logistic(table[parts != part], labels[parts != part], 10.0)
        predicted[parts == part] = fitted(table[parts == part])
    return predicted


def from_few(table: Numbers, labels: Numbers, count: int) -> Numbers:
    """Return what a logistic regression on `count` rows predicts for the others; for these, not a number."""
    chosen = np.zeros(len(labels), bool)
    chosen[np.random.default_rng(1).permutation(len(labels))[:count]] = True
    predicted = fit_logistic(table[chosen], labels[chosen], 10.0)(table)
    return np.where(chosen, np.nan, predicted)


def measure_reliability(options: argparse.Namespace) -> None:
    """Print the calibration error of a run's confidence on unseen text, and each bin."""
    assessor = Assessor.load(options.run)
    known = assessor.require_calibration()
    threshold = float(known.good.rpartition(" ")[2])
    sources, references = list(read_lines(options.source)), list(read_lines(options.reference))
    found = assessor.translate(sources)
    rows = [
        (one.assessment.confidence, one.text, reference)
        for one, reference in zip(found, references, strict=True)
        if one.assessment.confidence is not None
    ]
    confidence = np.array([row[0] for row in rows])
    labels = np.array([sentence_chrf(text, reference) >= threshold for _, text, reference in rows], float)
    print(f"{len(rows)} of {len(sources)} translations have a confidence; {labels.mean():.1%} are good ({known.good})")
    alone = np.array([one.log_prob / (len(one.ids) + 1) for one in found if one.assessment.confidence is not None])
    print(
        f"expected calibration error {expected_calibration_error(confidence, labels):.4f}, by chance "
        f"{error_by_chance(confidence):.4f}; AUROC {auroc(confidence, labels):.3f}, log-probability alone "
        f"{auroc(alone, labels):.3f}"
    )
    for one in reliability(confidence, labels):
        print(f"  confidence {one.predicted:.3f}  good {one.observed:.3f}  of {one.count}")


def measure_rescue(options: argparse.Namespace) -> None:
    """Print how many flagged translations a rescue cures, and their chrF before and after."""
    assessor = Assessor.load(options.run)
    sources, references = list(read_lines(options.source)), list(read_lines(options.reference))
    found = assessor.translate(sources)
    rescued = rescue(assessor, sources, found)
    rows = [number for number, one in enumerate(found) if one.assessment.flagged]
    print(f"{rescued.flagged} of {len(sources)} translations are flagged; a rescue cures {rescued.cured}")
    for name, some in (("before", found), ("after", rescued.translations)):
        if rows:
            score = chrf([some[row].text for row in rows], [[references[row] for row in rows]])
            print(f"{name}: chrF {score.score:.2f} of the flagged ones  {score.signature}")


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description="What a run's confidence is worth.")
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("alarms")
    one.add_argument("run", type=Path)
    one.add_argument("folder", type=Path)
    one.add_argument("--dropout", type=int, default=0)
    one.add_argument("--samples", type=int, default=0)
    one.add_argument("--reverse", type=Path)
    one.add_argument("--labels", type=int, default=200)
    one.set_defaults(measure=alarms)
    for name, measure in (("reliability", measure_reliability), ("rescue", measure_rescue)):
        other = kinds.add_parser(name)
        other.add_argument("run", type=Path)
        other.add_argument("source", type=Path)
        other.add_argument("reference", type=Path)
        other.set_defaults(measure=measure)
    options = parser.parse_args()
    options.measure(options)


if __name__ == "__main__":
    main()
