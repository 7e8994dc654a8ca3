"""Statistical significance of differences: confidence intervals and paired tests by sacreBLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from dragoman.metrics.scores import (
    bleu_metric,
    check_counts,
    chrf_metric,
    ter_metric,
    tokenizer_for,
)

Metric = Literal["bleu", "chrf", "ter"]
PairedTestKind = Literal["bootstrap", "randomisation"]


@dataclass(frozen=True)
class Estimate:
    """A corpus score with its 95% confidence interval from bootstrap resampling."""

    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same sentences, and how likely such a difference is by chance.

    `difference` is the system's score minus the baseline's; `signature` is sacreBLEU's, with test, samples and seed.
    """

    name: str
    baseline: Estimate
    system: Estimate
    difference: float
    p_value: float
    signature: str


def compare(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metric: Metric = "bleu",
    test: PairedTestKind = "bootstrap",
    samples: int = 1000,
    tokenize: str | None = None,
    lowercase: bool = False,
) -> Comparison:
    """Test two outputs by paired bootstrap (Koehn 2004) or approximate randomisation (Riezler and Maxwell 2005).

    `samples` counts resamples of the bootstrap, or shuffles; `tokenize` is that of `bleu`. Raises InputError if the line counts
    differ. Deviation from sacreBLEU: equal scores have the p-value 1 rather than 1 / (samples + 1).
    """
    check_counts(baseline, references)
    check_counts(system, references)
    measured = _metric(metric, references, tokenize=tokenize, lowercase=lowercase)
    tested = _paired([baseline, system], references, metric=measured, test=test, samples=samples)
    first, second = tested.results
    difference = second.score - first.score
    return Comparison(
        name=tested.name,
        baseline=_estimate(first),
        system=_estimate(second),
        difference=difference,
        p_value=float(second.p_value) if difference else 1.0,
        signature=tested.signature,
    )


def interval(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, metric: Metric = "bleu", samples: int = 1000
) -> Estimate:
    """Return the score of one output with its 95% bootstrap confidence interval."""
    check_counts(hypotheses, references)
    tested = _paired([hypotheses], references, metric=_metric(metric, references), test="bootstrap", samples=samples)
    return _estimate(tested.results[0])


def score_difference(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    *,
    metric: Metric = "bleu",
    samples: int = 1000,
    seed: int = 12345,
) -> Estimate:
    """Return a system's score minus a baseline's, with the 95% interval of that difference; of TER, less is better.

    Both are measured on the same resampled sentences (paired bootstrap, Koehn 2004); the interval is that between the
    percentiles 2.5 and 97.5 of the differences.
    """
    import numpy as np

    check_counts(baseline, [references])
    check_counts(system, [references])
    chosen = _metric(metric, [references])  # its sums over sentences are those that sacreBLEU's own tests resample
    both = np.array(
        [chosen._extract_corpus_statistics(list(texts), [list(references)]) for texts in (baseline, system)]
    )

    def difference(rows: Any) -> float:
        before, after = (chosen._compute_score_from_stats(sums).score for sums in both[:, rows].sum(1).tolist())
        return float(after - before)

    count = len(references)
    drawn = np.random.default_rng(seed).integers(count, size=(samples, count))
    low, high = np.percentile([difference(rows) for rows in drawn], [2.5, 97.5])
    return Estimate(difference(np.arange(count)), float(low), float(high))


@dataclass(frozen=True)
class _Tested:
    """What sacreBLEU's paired test says: the metric's name, the signature, and a result for each output."""

    name: str
    signature: str
    results: list[Any]


def _metric(
    name: Metric, references: Sequence[Sequence[str]], *, tokenize: str | None = None, lowercase: bool = False
) -> Any:
    """Return sacreBLEU's metric; TER never minds case."""
    match name:
        case "bleu":
            chosen = tokenize or tokenizer_for(chain.from_iterable(references))
            return bleu_metric(tokenize=chosen, lowercase=lowercase)
        case "chrf":
            return chrf_metric(lowercase=lowercase)
        case "ter":
            return ter_metric(references)


def _paired(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    metric: Any,
    test: PairedTestKind,
    samples: int,
) -> _Tested:
    """Run sacreBLEU's paired test."""
    from sacrebleu.significance import PairedTest

    signatures, results = PairedTest(
        [(str(number), list(output)) for number, output in enumerate(outputs)],
        {"metric": metric},
        [list(reference) for reference in references],
        test_type={"bootstrap": "bs", "randomisation": "ar"}[test],
        n_samples=samples,
        n_ar_confidence=-1 if test == "bootstrap" else 1000,
    )()
    name = next(iter(signatures))
    return _Tested(name, str(signatures[name]), results[name])


def _estimate(result: Any) -> Estimate:
    """Turn sacreBLEU's mean and half-width into an interval, which does not go below 0, as no score does."""
    return Estimate(float(result.score), max(float(result.mean - result.ci), 0.0), float(result.mean + result.ci))
