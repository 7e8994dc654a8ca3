"""What a run's confidence is worth: alarms on judged translations, and calibration on unseen text.

    python -m benchmarks.confidence hallucinations RUN FOLDER [--ensemble RUN]... [--dropout N] [--samples N] [--others N]
                                                   [--reverse RUN] [--labels N] [--write docs/confidence.md]
    python -m benchmarks.confidence reliability RUN SOURCE REFERENCE
    python -m benchmarks.confidence rescue RUN SOURCE REFERENCE

`hallucinations` scores the translations of dev.csv in FOLDER, which another model made and people judged (Guerreiro et al. 2023),
with a German-English RUN, or with several as an ensemble, and prints the AUROC of each feature and of combinations: without
labels (the mean of standardised features whose direction is known), and logistic regression, fitted as `dragoman calibrate`
does, by cross-validation over all rows, or on so many labels alone (200). A feature that grows with errors counts as it is,
others negated. `--write` puts the main rows between two marks of a document.
`reliability` translates unseen text with a calibrated run and prints the expected calibration error of its confidence; `rescue`
prints chrF of flagged translations before and after. A row that cannot be scored is counted and printed.
"""

import argparse
import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from benchmarks.pages import replace_between
from numpy.typing import NDArray

from dragoman.data.lines import read_lines
from dragoman.errors import DragomanError
from dragoman.inference.confidence.assessor import Assessor
from dragoman.inference.confidence.calibration import fit_regularised
from dragoman.inference.confidence.evidence import Evidence, PassSettings
from dragoman.inference.confidence.features import sentence_features
from dragoman.inference.confidence.rescue import rescue
from dragoman.inference.confidence.surface import bare
from dragoman.inference.translator import Translator
from dragoman.jobs.calibrate import choose_others
from dragoman.metrics.calibration import (
    auroc,
    error_by_chance,
    expected_calibration_error,
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
"""What is to be found, by the columns of dev.csv; each is judged among all others."""
PUBLISHED = {"detached or repeated": 0.830, "detached": 0.842, "fully detached": 0.935}
"""AUROC of the mean log-probability of the model that made the translations (stopes, 01_Detection.ipynb)."""
FALLING = frozenset(
    {"whole source", "log-probability", "worst fifth", "length", "attention entropy", "dropout", "agreement", "reverse"}
    | {"support", "least support", "source gain", "contrast"}
)
"""Features that are lower for errors."""
SURFACE = ("length", "source words", "repetition", "copied", "numbers lost", "numbers added", "names added")
ATTENTION = ("attention elsewhere", "attention entropy", "unattended", "attention to uniform")
FILE = ("said elsewhere",)
"""Features for which other translations of the file are needed."""
BELOW = 0.5
"""Sources with at most this share of common words are different ones."""
ORDER = 4
"""Length of the n-grams that a translation has in common with those of other sources."""
WITHOUT_LABELS: Mapping[str, Sequence[str]] = {
    "mean log-probability alone": ("log-probability",),
    "attention alone": ATTENTION,
    "contrast with other sources alone": ("contrast",),
    "contrast and attention": ("contrast", *ATTENTION),
    "contrast and repetition": ("contrast", "repetition"),
    "contrast, repetition and a reverse run": ("contrast", "repetition", "reverse"),
    "contrast, repetition and the file": ("contrast", "repetition", *FILE),
}
"""Features that are averaged, each with mean 0 and deviation 1; a row that needs a pass that was not made is left out."""
PARTS = 10
MARKS = ("<!-- hallucinations -->", "<!-- /hallucinations -->")
"""Between them a document holds the main rows."""


def hallucinations(options: argparse.Namespace) -> None:
    """Observe the judged translations, and compare what detects those that are wrong."""
    with (options.folder / "dev.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if options.labels >= len(rows):
        raise SystemExit(f"{options.folder} has {len(rows)} translations; give fewer --labels to learn from")
    reverse = None if options.reverse is None else Translator.load(options.reverse)
    assessor = Assessor(Translator.load(options.run, *options.ensemble), reverse=reverse)
    assessor.passes = PassSettings(dropout=options.dropout, samples=options.samples)
    requests = assessor.translator.requests([row["src"] for row in rows], [row["mt"] for row in rows])
    assessor.others = choose_others(assessor.translator, [row["src"] for row in rows], options.others)
    begun = time.monotonic()
    observed = assessor.observe(requests)
    seconds = time.monotonic() - begun
    kept = [(row, one) for row, one in zip(rows, observed, strict=True) if one is not None]
    print(f"{len(kept)} translations in {seconds:.0f} s; {len(requests) - len(kept)} without a token, left out")
    compare_detectors(kept, assessor.translator.languages, options)


def compare_detectors(
    kept: Sequence[tuple[Mapping[str, str], Evidence]], languages: tuple[str, str], options: argparse.Namespace
) -> None:
    """Print the AUROC of each feature and of combinations, and write the latter."""
    elsewhere = said_elsewhere([row["src"] for row, _ in kept], [row["mt"] for row, _ in kept])
    features = [
        sentence_features(one, languages) | to_uniform(one) | {"said elsewhere": share}
        for (_, one), share in zip(kept, elsewhere, strict=True)
    ]
    table = {name: np.array([row[name] for row in features]) for name in features[0]}
    labels = {
        group: np.array([any(row[column] == "1" for column in columns) for row, _ in kept], float)
        for group, columns in GROUPS.items()
    }
    head = [
        f"| score | {' | '.join(f'{group} ({int(found.sum())})' for group, found in labels.items())} |",
        "| --- |" + " --- |" * len(labels),
    ]
    print("\n".join(head))
    for name, values in table.items():
        print(line(name, dict.fromkeys(labels, -values if name in FALLING else values), labels))
    main_rows = [line(title, found, labels) for title, found in combinations(table, labels, options.labels)]
    published = (f"{PUBLISHED[one]:.3f}" if one in PUBLISHED else "" for one in labels)
    main_rows.append(f"| published: mean log-probability of the model that translated | {' | '.join(published)} |")
    print("\n".join(main_rows))
    if options.write is not None:
        replace_between(options.write, MARKS, "\n".join([*head, *main_rows]))


def combinations(
    table: Mapping[str, Numbers], labels: Mapping[str, Numbers], count: int
) -> Iterator[tuple[str, Mapping[str, Numbers]]]:
    """Yield the scores of each combination by what is to be found: first those that need no labels."""
    for title, names in WITHOUT_LABELS.items():
        if table.keys() >= set(names):
            yield f"{title}: no labels", dict.fromkeys(labels, mean_standard(table, names))
    passes = [name for name in table if name not in (*ATTENTION, *FILE)]
    for title, names in {
        "all features but attention and the file": passes,
        "all features but the file": [*passes, *ATTENTION],
        "all features": list(table),
    }.items():
        chosen = np.column_stack([table[name] for name in names if name in table])
        yield f"{title}: labels, cross-validated", {group: unseen(chosen, label) for group, label in labels.items()}
    every = np.column_stack(list(table.values()))
    yield f"all features: {count} labels", {group: from_few(every, label, count) for group, label in labels.items()}


def to_uniform(one: Evidence) -> dict[str, float]:
    """Return how far the mean attention, to each source word and to the rest, is from uniform (Guerreiro et al. 2023).

    Deviation: the distance is between words, not tokens, and half the sum of differences: each move costs the same.
    """
    if one.attention is None:
        return {}
    received = one.attention.mean(0)
    received = np.append(received, max(0.0, 1 - received.sum()))
    return {"attention to uniform": float(np.abs(received - 1 / len(received)).sum() / 2)}


def said_elsewhere(sources: Sequence[str], translations: Sequence[str]) -> list[float]:
    """Return how much of each translation is said of quite different sources too: the mean over words of log(1 + sources).

    Raunak et al. 2021 count translations that are repeated whole; here 4-grams are.
    """
    words = [[bare(word) for word in text.split() if bare(word)] for text in translations]
    known = [frozenset(bare(word) for word in text.split() if bare(word)) for text in sources]
    places: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for number, own in enumerate(words):
        for at in range(len(own) - ORDER + 1):
            places[tuple(own[at : at + ORDER])].add(number)
    found = []
    for number, own in enumerate(words):
        counts = [0] * len(own)
        for at in range(len(own) - ORDER + 1):
            others = {
                known[other] for other in places[tuple(own[at : at + ORDER])] if differ(known[other], known[number])
            }
            counts[at : at + ORDER] = [max(count, len(others)) for count in counts[at : at + ORDER]]
        found.append(sum(np.log1p(count) for count in counts) / max(len(own), 1))
    return found


def differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two sources have few words in common."""
    return len(one & other) < BELOW * max(1, min(len(one), len(other)))


def line(name: str, scores: Mapping[str, Numbers], labels: Mapping[str, Numbers]) -> str:
    """Return one row of the table; rows whose score is not a number were learned from, and do not count."""
    cells = []
    for group, label in labels.items():
        known = ~np.isnan(scores[group])
        cells.append(f"{auroc(scores[group][known], label[known]):.3f}")
    return f"| {name} | {' | '.join(cells)} |"


def mean_standard(table: Mapping[str, Numbers], names: Sequence[str]) -> Numbers:
    """Return the mean over features of each row's distance from the mean, in deviations, errors last."""
    known = [(-table[name] if name in FALLING else table[name]) for name in names if name in table]
    return np.mean([(values - values.mean()) / max(float(values.std()), 1e-9) for values in known], axis=0)


def unseen(table: Numbers, labels: Numbers) -> Numbers:
    """Return what logistic regressions on the other parts predict for each part."""
    parts, predicted = folds(len(labels), PARTS), np.zeros(len(labels))
    for part in range(PARTS):
        fitted, _ = fit_regularised(table[parts != part], 1 - labels[parts != part])
        predicted[parts == part] = 1 - fitted(table[parts == part])
    return predicted


def from_few(table: Numbers, labels: Numbers, count: int) -> Numbers:
    """Return what a logistic regression on `count` rows predicts for the others; for these, not a number."""
    chosen = np.zeros(len(labels), bool)
    chosen[np.random.default_rng(1).permutation(len(labels))[:count]] = True
    fitted, _ = fit_regularised(table[chosen], 1 - labels[chosen])
    return np.where(chosen, np.nan, 1 - fitted(table))


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description="What a run's confidence is worth.")
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("hallucinations")
    one.add_argument("run", type=Path)
    one.add_argument("folder", type=Path)
    one.add_argument("--ensemble", type=Path, action="append", default=[], metavar="RUN")
    one.add_argument("--dropout", type=int, default=0)
    one.add_argument("--samples", type=int, default=0)
    one.add_argument("--others", type=int, default=8)
    one.add_argument("--reverse", type=Path)
    one.add_argument("--labels", type=int, default=200)
    one.add_argument("--write", type=Path, metavar="DOCUMENT")
    one.set_defaults(measure=hallucinations)
    for name, measure in (("reliability", measure_reliability), ("rescue", measure_rescue)):
        other = kinds.add_parser(name)
        other.add_argument("run", type=Path)
        other.add_argument("source", type=Path)
        other.add_argument("reference", type=Path)
        other.set_defaults(measure=measure)
    options = parser.parse_args(arguments)
    try:
        options.measure(options)
    except (DragomanError, OSError) as error:
        print(f"confidence: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
