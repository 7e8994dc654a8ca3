"""BLEU, chrF and TER by sacreBLEU, each with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dragoman.errors import InputError
from dragoman.settings import nearest

TOKENIZERS = ("13a", "char", "intl", "none", "zh")
"""BLEU tokenisers that need neither a download nor another package."""


@dataclass(frozen=True)
class Score:
    """A corpus score from 0 to 100 (TER may be higher) and its sacreBLEU signature."""

    name: str
    score: float
    signature: str


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Score:
    """Compute corpus BLEU. `references` holds one sequence per reference set, each as long as `hypotheses`.

    >>> round(bleu(["the cat sat on the mat"], [["the cat sat on the rug"]]).score, 1)
    76.0
    """
    return scored(bleu_metric(tokenize=tokenize, lowercase=lowercase), hypotheses, references)


def chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0, lowercase: bool = False
) -> Score:
    """Compute corpus chrF2, or chrF2++ with `word_order` 2."""
    return scored(chrf_metric(word_order=word_order, lowercase=lowercase), hypotheses, references)


def ter(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Compute the corpus translation edit rate; lower is better."""
    return scored(ter_metric(), hypotheses, references)


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """Compute the BLEU of one sentence, which can rank its translations but does not measure a system.

    Orders longer than the sentence are skipped, and those without a match are smoothed (sacreBLEU's `exp`).

    >>> sentence_bleu("the cat sat on the mat", "the cat sat on the mat") > sentence_bleu("a cat sat", "the cat sat")
    True
    """
    return float(_sentence_metric().sentence_score(hypothesis, [reference]).score)


def bleu_statistics(hypothesis: str, references: Sequence[str]) -> list[int]:
    """Return what corpus BLEU adds up over sentences: matching n-grams of each order, all n-grams, and both lengths."""
    found = _sentence_metric().sentence_score(hypothesis, list(references))
    return [*found.counts, *found.totals, found.sys_len, found.ref_len]


def bleu_of_statistics(summed: Sequence[int]) -> float:
    """Return corpus BLEU, as `bleu` does, from the sums of `bleu_statistics`.

    >>> round(bleu_of_statistics(bleu_statistics("the cat sat on the mat", ["the cat sat on the rug"])), 1)
    76.0
    """
    orders = (len(summed) - 2) // 2
    correct, total, (written, expected) = summed[:orders], summed[orders : 2 * orders], summed[2 * orders :]
    return float(
        _sentence_metric().compute_bleu(list(correct), list(total), written, expected, smooth_method="exp").score
    )


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """Compute the chrF2 of one sentence, from 0 to 100.

    >>> sentence_chrf("the cat", "the cat")
    100.0
    """
    return float(_sentence_chrf_metric().sentence_score(hypothesis, [reference]).score)


@cache
def _sentence_metric() -> Any:
    """Return sacreBLEU's metric behind `sentence_bleu` and `bleu_statistics`, which counts as that behind `bleu` does."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


@cache
def _sentence_chrf_metric() -> Any:
    """Return sacreBLEU's metric behind `sentence_chrf`."""
    return chrf_metric()


def bleu_metric(*, tokenize: str = "13a", lowercase: bool = False) -> Any:
    """Return sacreBLEU's metric behind `bleu`, without its warnings. InputError for an unknown tokeniser."""
    if tokenize not in TOKENIZERS:
        raise InputError(f"BLEU has no tokeniser `{tokenize}`{nearest(tokenize, TOKENIZERS)}")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def chrf_metric(*, word_order: int = 0, lowercase: bool = False) -> Any:
    """Return sacreBLEU's metric behind `chrf`."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=word_order, lowercase=lowercase)


def ter_metric() -> Any:
    """Return sacreBLEU's metric behind `ter`."""
    from sacrebleu.metrics.ter import TER

    return TER()


def scored(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Apply a sacreBLEU metric to whole corpora."""
    check_counts(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(reference) for reference in references])
    return Score(result.name, float(result.score), str(metric.get_signature()))


def check_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise InputError for corpora that are empty or not parallel."""
    if not references:
        raise InputError("there is nothing to compare the translations with; give at least one reference")
    if not hypotheses:
        raise InputError("there are no translations to score; the file is empty")
    for number, reference in enumerate(references, 1):
        if len(reference) != len(hypotheses):
            raise InputError(
                f"there are {len(hypotheses)} translations but reference {number} has {len(reference)} lines; "
                "they must match line by line"
            )
