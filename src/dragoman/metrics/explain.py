"""BLEU step by step, for learners: n-gram counts, clipping, precisions, brevity penalty."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dragoman.errors import InputError
from dragoman.metrics.scores import bleu_metric, tokenizer_for

Words = Sequence[str]


@dataclass(frozen=True)
class NGram:
    """How often an n-gram occurs in the candidate, and its clipped count: at most its count in any reference."""

    words: tuple[str, ...]
    count: int
    clipped: int


@dataclass(frozen=True)
class Precision:
    """The n-grams of one length. `smoothed` is used in the mean; it differs from `value` if no n-gram matches."""

    ngrams: list[NGram]
    smoothed: float

    @property
    def total(self) -> int:
        """Count the candidate's n-grams."""
        return sum(ngram.count for ngram in self.ngrams)

    @property
    def matched(self) -> int:
        """Count those found in a reference, after clipping."""
        return sum(ngram.clipped for ngram in self.ngrams)

    @property
    def unclipped(self) -> int:
        """Count those found in a reference, without clipping."""
        return sum(ngram.count for ngram in self.ngrams if ngram.clipped)

    @property
    def value(self) -> Fraction:
        """Divide the two; 0 if the candidate is too short for such n-grams."""
        return Fraction(self.matched, self.total) if self.total else Fraction(0)


@dataclass(frozen=True)
class Explanation:
    """Everything that goes into the BLEU (from 0 to 1) of one candidate."""

    candidate: list[str]
    references: list[list[str]]
    precisions: list[Precision]
    reference_length: int
    brevity_penalty: float
    bleu: float

    def render(self) -> str:
        """Return the explanation as plain text."""
        lines = [f"candidate   {' '.join(self.candidate)}"]
        lines += [f"reference   {' '.join(reference)}" for reference in self.references]
        for order, precision in enumerate(self.precisions, 1):
            lines += ["", f"{order}-grams", *_table(precision.ngrams), _precision_line(order, precision)]
        return "\n".join([*lines, "", *self._result()])

    def _result(self) -> list[str]:
        """Format the brevity penalty and the score."""
        candidate, reference = len(self.candidate), self.reference_length
        short = f"exp(1 - {reference}/{candidate})" if 0 < candidate < reference else "not shorter"
        if candidate == 0:
            short = "no words"
        mean = " * ".join(f"{precision.smoothed:.4f}" for precision in self.precisions)
        lengths = f"{candidate} words, closest reference {reference}: {short}"
        return [
            f"brevity penalty   {self.brevity_penalty:.4f}   ({lengths})",
            f"BLEU   {self.bleu:.4f} = {self.brevity_penalty:.4f} * ({mean}) ** (1/{len(self.precisions)}), "
            f"written as {100 * self.bleu:.2f}",
        ]


def explain(
    hypothesis: str, references: Sequence[str], *, tokenize: str | None = None, lowercase: bool = False, order: int = 4
) -> Explanation:
    """Explain the BLEU of one sentence against one or more references, with n-grams of up to `order` words.

    Papineni et al. 2002: brevity penalty * exp(mean of the logarithms of the precisions). The tokenisation and the smoothing
    (the first precision without matches is 1/2 of 1/total, the next 1/4, and so on; 0 if none matches) are sacreBLEU's, and
    `bleu` is a hundredth of its corpus BLEU for this one sentence.

    >>> explanation = explain("the the the the the the the", ["The cat is on the mat."], lowercase=True)
    >>> explanation.precisions[0].total, explanation.precisions[0].matched
    (7, 2)
    """
    if not references:
        raise InputError("there is nothing to compare the translation with; give at least one reference")
    tokens = bleu_metric(tokenize=tokenize or tokenizer_for(references)).tokenizer
    lower = str.lower if lowercase else str
    candidate = str(tokens(lower(hypothesis).rstrip())).split()
    others = [str(tokens(lower(reference).rstrip())).split() for reference in references]
    tables = [_count(candidate, others, size) for size in range(1, order + 1)]
    length = min((len(reference) for reference in others), key=lambda words: (abs(words - len(candidate)), words))
    precisions = [Precision(table, value) for table, value in zip(tables, _smooth(tables), strict=True)]
    penalty = brevity_penalty(len(candidate), length)
    return Explanation(candidate, others, precisions, length, penalty, penalty * _geometric_mean(precisions))


def brevity_penalty(candidate: int, reference: int) -> float:
    """Return the factor for a candidate shorter than its reference.

    >>> brevity_penalty(5, 4), round(brevity_penalty(4, 5), 3), brevity_penalty(0, 5)
    (1.0, 0.779, 0.0)
    """
    if candidate == 0 and reference > 0:
        return 0.0
    return math.exp(min(0.0, 1 - reference / candidate)) if candidate else 1.0


def d2l_bleu(prediction: str, label: str, k: int) -> float:
    """Compute the BLEU for short sentences of "Dive into Deep Learning": exp(min(0, 1 - |label| / |prediction|)) times
    the product over n = 1 .. k of p_n ** (1 / 2 ** n). Words are separated by spaces.

    Deviation: a prediction of fewer than k words has 0; the book's later code leaves out the n-grams that it is too short for.

    >>> round(d2l_bleu("il est riche .", "il est calme .", 2), 3)
    0.658
    """
    predicted, expected = prediction.split(), label.split()
    if len(predicted) < k:
        return 0.0
    score = brevity_penalty(len(predicted), len(expected))
    for size in range(1, k + 1):
        table = _count(predicted, [expected], size)
        score *= float(Precision(table, 0.0).value) ** (1 / 2**size)
    return score


def _count(candidate: Words, references: Sequence[Words], size: int) -> list[NGram]:
    """Count the candidate's n-grams of `size` words, in order of first occurrence, and clip the counts."""
    allowed = [_ngrams(reference, size) for reference in references]
    return [
        NGram(words, count, min(count, max(reference[words] for reference in allowed)))
        for words, count in _ngrams(candidate, size).items()
    ]


def _ngrams(words: Words, size: int) -> Counter[tuple[str, ...]]:
    """Count the sequences of `size` words."""
    return Counter(tuple(words[start : start + size]) for start in range(len(words) - size + 1))


def _smooth(tables: Sequence[list[NGram]]) -> list[float]:
    """Return the precisions, those without matches as 1/2, 1/4, ... of one match; all 0 if nothing matches."""
    exact = [Precision(table, 0.0) for table in tables]
    if not any(precision.matched for precision in exact):
        return [0.0] * len(exact)
    values, share = [], 1.0
    for precision in exact:
        if precision.total and not precision.matched:
            share /= 2
        values.append((precision.matched or share) / precision.total if precision.total else 0.0)
    return values


def _geometric_mean(precisions: Sequence[Precision]) -> float:
    """Return exp(mean of logarithms); 0 if one precision is 0."""
    if not all(precision.smoothed > 0 for precision in precisions):
        return 0.0
    return math.exp(sum(math.log(precision.smoothed) for precision in precisions) / len(precisions))


def _table(ngrams: Sequence[NGram]) -> list[str]:
    """Format n-grams, counts and clipped counts in columns."""
    names = [" ".join(ngram.words) for ngram in ngrams]
    width = max(len(name) for name in [*names, "n-gram"])
    rows = [
        f"  {name:<{width}}  {ngram.count:>5}  {ngram.clipped:>7}" for name, ngram in zip(names, ngrams, strict=True)
    ]
    return [f"  {'n-gram':<{width}}  count  clipped", *rows] if rows else ["  none: the candidate is too short"]


def _precision_line(order: int, precision: Precision) -> str:
    """Format one precision, with its smoothed and its unclipped value if they differ."""
    if precision.total == 0:
        return f"  p{order} = 0"
    smoothed = f", smoothed to {precision.smoothed:.4f}" if precision.matched == 0 and precision.smoothed > 0 else ""
    cut = "" if precision.unclipped == precision.matched else f" ({precision.unclipped}/{precision.total} unclipped)"
    return f"  p{order} = {precision.matched}/{precision.total} = {float(precision.value):.4f}{cut}{smoothed}"
