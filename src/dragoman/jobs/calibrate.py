"""Learn what the confidence of a run or an ensemble means: from references of a corpus, or from judgements of translations."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

import numpy as np
from jaxtyping import Float

from dragoman.atomic import check_output
from dragoman.data.checksums import file_checksum, weights_digest
from dragoman.data.corpus import Pair, corpus_files, read_pairs
from dragoman.data.ledger import write_recorded
from dragoman.data.lines import read_lines
from dragoman.decoding.settings import ALONE
from dragoman.errors import InputError, RunError
from dragoman.inference.confidence.alarms import ALARMS, AlarmLimits, limits_from, measured, raise_alarms
from dragoman.inference.confidence.assessor import Assessor, with_target
from dragoman.inference.confidence.calibration import (
    Calibration,
    Reliability,
    Scale,
    checksum_of,
    fit_scale,
    path_of,
    predict_unseen,
)
from dragoman.inference.confidence.evidence import Evidence, PassSettings, varies
from dragoman.inference.confidence.features import sentence_features, word_features
from dragoman.inference.translator import Translator
from dragoman.inspection.reliability import draw_reliability
from dragoman.machine.processes import for_one_process
from dragoman.metrics.calibration import auroc, error_by_chance, expected_calibration_error, reliability
from dragoman.metrics.scores import sentence_chrf
from dragoman.runs.folder import Run, open_run
from dragoman.runs.lock import LOCK, held

FEWEST = 50
"""Minimum number of labels to learn from."""
RAREST = 0.05
"""Minimum share of good, and of bad, sentences."""
USUAL_CHRF = 50.0
"""The sentence chrF from which on a translation counts as good, unless it divides the corpus badly."""
LOPSIDED = 0.2
"""Where fewer than so many translations are on one side of it, their median is used instead."""
FALSE_ALARMS = 0.02
"""Each limit is set so that at most this share of good translations exceeds it."""

Say = Callable[[str], None]
"""Is told what happens."""


@dataclass(frozen=True)
class Examples:
    """Translations with labels, 1 for good: what a calibration learns from."""

    evidence: Sequence[Evidence]
    labels: Float[np.ndarray, " row"]
    faultless: Sequence[Evidence]
    """Translations that should raise no alarm."""
    good: str
    """What the label 1 means."""
    word_labels: Sequence[Sequence[int]] = field(default=())
    """Of each word of each translation; nothing where they are unknown. If all are equal, nothing is learned from them."""


@for_one_process
def calibrate(
    *runs: Path,
    passes: PassSettings,
    learn_from: "Callable[[Assessor], Examples]",
    reverse: Path | None = None,
    device: str = "auto",
) -> Calibration:
    """Calibrate a run, or several as an ensemble, and write what was learned and its picture into the folder of the first.

    `reverse` adds a feature.
    """
    run = runs[0]
    check_place(*runs)
    weights = checksum_of(*runs)
    translator = Translator.load(*runs, device=device)
    assert weights is not None, "loading has checked it"
    translator.directions.require_one(str(run))
    if passes.dropout and not varies(translator):
        names = " and ".join(map(str, runs))
        raise InputError(f"passes with dropout say nothing of {names}, trained without dropout; remove --dropout")
    back = None if reverse is None else load_reverse(reverse, run, translator.languages, device=device)
    assessor = Assessor(translator, reverse=back)
    assessor.passes = passes
    examples = learn_from(assessor)
    check_labels(examples.labels, examples.good)
    limits = AlarmLimits()
    if len(examples.faultless) >= FEWEST:
        limits = limits_from([measured(one, translator.languages) for one in examples.faultless], FALSE_ALARMS)
    rows = [sentence_features(one, translator.languages) for one in examples.evidence]
    sentences = measure_scale(rows, examples.labels, range(len(rows)))
    words: tuple[Scale | None, Reliability | None] = (None, None)
    labels = np.array([label for some in examples.word_labels for label in some], float)
    if 0 < labels.sum() < len(labels):
        word_rows = [row for one in examples.evidence for row in word_features(one)]
        groups = [number for number, some in enumerate(examples.word_labels) for _ in some]
        words = measure_scale(word_rows, labels, groups)
    found = Calibration(
        weights=weights,
        passes=passes,
        reverse=None if reverse is None else str(reverse.resolve()),
        reverse_weights=None if reverse is None else weights_digest(reverse / "model.safetensors"),
        others=assessor.others,
        good=examples.good,
        limits=limits,
        false_alarms=count_alarms(examples.faultless, limits, translator.languages),
        sentences=sentences[0],
        reliability=sentences[1],
        words=words[0],
        word_reliability=words[1],
    )
    found.write(*runs)
    write_recorded(run, picture_of(*runs), draw_reliability(found.reliability.bins, f"P({found.good})") + "\n")
    return found


def picture_of(*runs: Path) -> Path:
    """Return where the reliability curve of a run, or of an ensemble, is drawn: in the folder of the first."""
    return path_of(*runs).with_suffix(".svg")


def load_reverse(reverse: Path, run: Path, languages: tuple[str, str], *, device: str) -> Translator:
    """Load the reverse of a run between these languages. InputError if it is not its reverse."""
    back = Translator.load(reverse, device=device, **ALONE)
    back.directions.require_one(str(reverse))
    if back.languages != languages[::-1]:
        raise InputError(
            f"{reverse} translates from {' to '.join(back.languages)}, but the reverse of {run} would translate from "
            f"{' to '.join(languages[::-1])}; give a run of that direction"
        )
    return back


def measure_scale(
    rows: Sequence[dict[str, float]], labels: Float[np.ndarray, " row"], groups: Sequence[int]
) -> tuple[Scale, Reliability]:
    """Learn a scale from all rows, and measure by cross-validation, with groups kept together, how reliable such a one is."""
    unseen = predict_unseen(rows, labels, groups)
    sharp = bool(np.isin(labels, (0.0, 1.0)).all())
    alone = np.array([row["log-probability"] for row in rows])
    known = Reliability(
        labels=len(labels),
        good=float(labels.mean()),
        error=expected_calibration_error(unseen, labels),
        chance=error_by_chance(unseen),
        auroc=auroc(unseen, labels) if sharp else None,
        alone=auroc(alone, labels) if sharp else None,
        bins=tuple(reliability(unseen, labels)),
    )
    return fit_scale(rows, labels), known


def from_corpus(
    pairs: Sequence[Pair], *, most: int, threshold: float | None, say: Say, others: int = 0
) -> Callable[[Assessor], Examples]:
    """Return a function that translates at most so many pairs, chosen at random, and compares with their references by chrF.

    Translations of at least the `threshold` are good; without one, of 50, or of the median where 50 divides them badly. So many
    `others` of the sources are kept, to score every translation with.
    InputError, at once, for pairs or a threshold from which nothing can be learned.
    """
    if threshold is not None and not 0 < threshold <= 100:
        raise InputError(
            f"--threshold is {threshold:g}, but a sentence chrF that divides good from bad is above 0 and at most 100; change "
            "it, or leave it out"
        )
    rows = [row for row, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
    rows = sorted(Random(1).sample(rows, min(most, len(rows))))
    check_count(len(rows))
    sources, references = [pairs[row].source for row in rows], [pairs[row].target for row in rows]

    def learn(assessor: Assessor) -> Examples:
        translator = assessor.translator
        check_lengths(assessor, {row + 1: (pairs[row].source, pairs[row].target) for row in rows})
        assessor.others = choose_others(translator, sources, others)
        previous = translator.preceding(
            [pair.source for pair in pairs], [pair.document if pair.source.strip() else None for pair in pairs]
        )
        before = [previous[row] for row in rows]
        say(f"Translating {len(rows):,} sentences.")
        found = translator.translate(sources, previous=before)
        requests = list(map(with_target, translator.requests(sources, previous=before), found))
        say("Observing the translations.")
        observed = assessor.observe(requests)
        say("Observing the references, which should raise no alarm.")
        faultless = assessor.observe(translator.requests(sources, references, previous=before))
        kept = [row for row, one in enumerate(observed) if one is not None]
        evidence = [one for one in observed if one is not None]
        scores = np.array(
            [sentence_chrf(found[row].text, translator.target.normalize(references[row])) for row in kept]
        )
        least = choose_threshold(scores) if threshold is None else threshold
        expected = [translator.target.words(references[row]) for row in kept]
        return Examples(
            evidence,
            (scores >= least).astype(float),
            [one for one in faultless if one is not None],
            f"sentence chrF of at least {least:g}",
            [same_words(one.target, words) for one, words in zip(evidence, expected, strict=True)],
        )

    return learn


def from_judgements(path: Path, *, others: int = 0) -> Callable[[Assessor], Examples]:
    """Read lines of source, translation and judgement (0 bad, 1 good, or between), tab-separated; return what observes them.

    InputError, at once, for judgements from which nothing can be learned.
    """
    every = [read_judgement(line, f"{path}, line {number}") for number, line in enumerate(read_lines(path), 1)]
    rows = {number: one for number, one in enumerate(every, 1) if one.source.strip() and one.translation.strip()}
    values, good = np.array([one.value for one in rows.values()]), f"judged good in {path.name}"
    check_labels(values, good)
    if values.min() == values.max():
        raise InputError(
            f"all judgements are {values[0]:g} in {path}, so there is no difference to learn; judge others too"
        )
    if values.max() < 0.5:
        raise InputError(
            f"no translation is judged 0.5 or more in {path}, so none shows what should raise no alarm; judge good ones too"
        )

    def learn(assessor: Assessor) -> Examples:
        check_lengths(assessor, {number: (one.source, one.translation) for number, one in rows.items()})
        assessor.others = choose_others(assessor.translator, [one.source for one in rows.values()], others)
        requests = assessor.translator.requests(
            [one.source for one in rows.values()], [one.translation for one in rows.values()]
        )
        observed = assessor.observe(requests)
        known = [(seen, one.value) for seen, one in zip(observed, rows.values(), strict=True) if seen is not None]
        return Examples(
            [seen for seen, _ in known],
            np.array([value for _, value in known]),
            [seen for seen, value in known if value >= 0.5],
            good,
        )

    return learn


@dataclass(frozen=True)
class Judgement:
    """What a person thinks of a translation."""

    source: str
    translation: str
    value: float


def read_judgement(line: str, place: str) -> Judgement:
    """Read one judgement. InputError names a place that has none."""
    cells = line.split("\t")
    try:
        source, translation, value = *cells[:2], float(cells[2])
        if len(cells) != 3 or not 0 <= value <= 1:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(
            f"{place} is not a judgement; write the source, the translation and a number from 0 (bad) to 1 (good), between tabs"
        ) from None
    return Judgement(source, translation, value)


def choose_others(translator: Translator, sources: Sequence[str], count: int) -> tuple[str, ...]:
    """Choose so many different sources at random, and one more, as one of them may be the sentence that is assessed."""
    if not count:
        return ()
    different = {tuple(translator.source.encode(source)): source for source in sources}
    if len(different) <= count:
        raise InputError(
            f"--others is {count}, but there are only {len(different)} different sources to choose from; give a smaller number"
        )
    return tuple(Random(1).sample(list(different.values()), count + 1))


def dev_pairs(run: Path, *others: Path) -> list[Pair]:
    """Return the pairs of a run's dev corpora. InputError if another run of the ensemble was trained on them."""
    opened = open_run(run)
    if not opened.recipe.data.dev:
        raise InputError(
            f"{run} was imported, so it names no dev corpora; give sentences and their references with --on"
        )
    data = opened.recipe.data
    for other in map(open_run, others):
        for file in (file for corpus in data.dev for file in corpus_files(corpus, data)):
            check_unseen(other, file)
    return [pair for corpus in data.dev for pair in read_pairs(corpus, data)]


def choose_threshold(scores: Float[np.ndarray, " row"]) -> float:
    """Return 50, or the median, rounded down, where fewer than a fifth of the scores are on one side of 50.

    >>> choose_threshold(np.array([10.0, 45.0, 55.0])), choose_threshold(np.array([10.0, 20.7, 30.0]))
    (50.0, 20.0)
    """
    share = float((scores >= USUAL_CHRF).mean())
    return USUAL_CHRF if LOPSIDED <= share <= 1 - LOPSIDED else float(math.floor(np.median(scores)))


def same_words(words: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Return 1 for each word of a translation that the reference has in its place: in the longest common blocks, in order.

    >>> same_words("the cat sat there".split(), "a cat sat down".split())
    [0, 1, 1, 0]
    """
    labels = [0] * len(words)
    for block in SequenceMatcher(None, words, reference, autojunk=False).get_matching_blocks():
        labels[block.a : block.a + block.size] = [1] * block.size
    return labels


def check_place(*runs: Path) -> None:
    """Raise InputError for a run given twice, or if what is learned could not be written into the first folder, or not last."""
    for at, run in enumerate(runs):
        if run.resolve() in [other.resolve() for other in runs[:at]]:
            raise InputError(f"{run} is given twice, but an ensemble needs different runs; give each run once")
        if held(run / LOCK):
            raise InputError(
                f"{run} is being trained, and confidence belongs to its final weights; wait until it has finished"
            )
    for path in (path_of(*runs), picture_of(*runs)):
        check_output(path)


def check_unseen(run: Run, path: Path) -> None:
    """Raise InputError for a file that a run was trained on, which it translates better than anything it will be given.

    That is also what the run was trained on from which it was adapted, if that is still where it was.
    """
    known = [run]
    for one in known:
        for folder in one.manifest.get("adapted", {}).get("runs", []):
            if all(Path(folder) != other.folder for other in known):
                with suppress(RunError):
                    known.append(open_run(folder))
    trained, held_out = (
        {
            one.manifest.get("data", {}).get(str(file))
            for one in known
            for corpus in getattr(one.recipe.data, part)
            for file in corpus_files(corpus, one.recipe.data)
        }
        for part in ("train", "dev")
    )
    if path.is_file() and file_checksum(path) in trained - held_out - {None}:
        raise InputError(
            f"{run.folder} was trained on {path}, where it is more often right than elsewhere; give sentences that it has not "
            "seen with --on"
        )


def check_lengths(assessor: Assessor, pairs: Mapping[int, tuple[str, str]]) -> None:
    """Raise InputError, which gives its number, for a pair that is too long for the run, or for the reverse run."""
    for number, (source, target) in pairs.items():
        assessor.translator.requests([source], [target], previous=[[]], first=number)
        if assessor.reverse is not None:
            assessor.reverse.requests([target], [source], previous=[[]], first=number)


def check_count(count: int) -> None:
    """Raise InputError for too few translations."""
    if count < FEWEST:
        raise InputError(f"there are {count} translations to learn from, but at least {FEWEST} are needed; give more")


def check_labels(labels: Float[np.ndarray, " row"], good: str) -> None:
    """Raise InputError, which says what counts as `good`, for labels that are too few or nearly all the same."""
    check_count(len(labels))
    share = float(labels.mean())
    if not RAREST <= share <= 1 - RAREST:
        raise InputError(
            f"{share:.1%} of the translations count as good ({good}), but there must be at least {RAREST:.0%} good and bad ones "
            "to learn the difference; change --threshold, give other sentences with --on, or judge other translations"
        )


def count_alarms(evidence: Sequence[Evidence], limits: AlarmLimits, languages: tuple[str, str]) -> dict[str, float]:
    """Return the share of translations that raise each alarm."""
    found = [{alarm.name for alarm in raise_alarms(one, limits, languages)} for one in evidence]
    return {name: round(sum(name in names for names in found) / max(len(found), 1), 4) for name in ALARMS}
