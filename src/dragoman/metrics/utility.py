"""How similar translations of one sentence are to one another: the utility of minimum Bayes risk decoding. Does not import torch.

All pairs are compared at once: the n-grams of each text are counted once, and shared by all comparisons.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.scores import bleu_metric, tokenizer_for

Utility = Literal["chrf", "bleu"]
Matrix = NDArray[np.float64]
"""A number for each pair of texts: rows are hypotheses, columns references."""

CHRF_ORDERS = 6
BETA = 2.0
BLEU_ORDERS = 4


def expected_utilities(texts: Sequence[str], utility: Utility = "chrf") -> list[float]:
    """Return how similar each text is to all of them on average, from 0 to 1, with every other text as reference.

    A text that occurs several times counts as often.

    >>> found = expected_utilities(["the cat sat", "the cat sat", "a dog ran"])
    >>> found[0] == found[1] > found[2]
    True
    """
    counts = Counter(texts)
    similar = similarities(list(counts), utility)
    mean = similar @ np.array(list(counts.values()), dtype=np.float64) / max(len(texts), 1)
    each = dict(zip(counts, mean.tolist(), strict=True))
    return [each[text] for text in texts]


def similarities(texts: Sequence[str], utility: Utility = "chrf") -> Matrix:
    """Return the utility of each text with each text as its reference, from 0 to 1.

    chrf is sacreBLEU's sentence chrF2 (Popović 2015), bleu its sentence BLEU with effective order and exponential smoothing;
    both are case-sensitive, bleu with the tokeniser of `tokenizer_for` the texts.
    """
    if utility == "chrf":
        return _chrf(["".join(text.split()) for text in texts])
    tokenizer = bleu_metric(tokenize=tokenizer_for(texts)).tokenizer
    return _bleu([str(tokenizer(text.rstrip())).split() for text in texts])


def _chrf(texts: Sequence[str]) -> Matrix:
    """Return chrF of each pair: precision and recall are averaged over the orders that both texts have."""
    size = (len(texts), len(texts))
    precision, recall, orders = np.zeros(size), np.zeros(size), np.zeros(size)
    for order in range(1, CHRF_ORDERS + 1):
        matches, totals = _matches(texts, order)
        both = (totals[:, None] > 0) & (totals[None, :] > 0)
        precision += np.where(both, matches / np.maximum(totals[:, None], 1), 0)
        recall += np.where(both, matches / np.maximum(totals[None, :], 1), 0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    below = BETA**2 * precision + recall
    return np.divide((1 + BETA**2) * precision * recall, below, out=np.zeros(size), where=below > 0)


def _bleu(texts: Sequence[Sequence[str]]) -> Matrix:
    """Return BLEU of each pair."""
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    size = (len(texts), len(texts))
    logarithms, orders, missed, any_match = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size, dtype=bool)
    for order in range(1, BLEU_ORDERS + 1):
        matches, totals = _matches(texts, order)
        has = np.broadcast_to(totals[:, None] > 0, size)
        none = has & (matches == 0)
        missed += none
        share = np.where(none, 0.5**missed, matches) / np.maximum(totals[:, None], 1)
        logarithms += np.log(np.where(has, share, 1.0))
        orders += has
        any_match |= matches > 0
    shorter = 1 - lengths[None, :] / np.maximum(lengths[:, None], 1)
    score = np.exp(np.minimum(shorter, 0) + logarithms / np.maximum(orders, 1))
    return np.where(any_match, score, 0.0)


def _matches(texts: Sequence[Sequence[Hashable]], order: int) -> tuple[Matrix, Matrix]:
    """Return the number of n-grams that each pair shares, clipped, and the number that each text has."""
    counted = [Counter(_ngrams(text, order)) for text in texts]
    columns: dict[Hashable, int] = {}
    for counts in counted:
        for ngram in counts:
            columns.setdefault(ngram, len(columns))
    table = np.zeros((len(texts), len(columns)), dtype=np.int32)
    for row, counts in zip(table, counted, strict=True):
        row[[columns[ngram] for ngram in counts]] = list(counts.values())
    matches = np.array([np.minimum(table, row).sum(1) for row in table], dtype=np.float64).reshape(
        len(texts), len(texts)
    )
    return matches, table.sum(1).astype(np.float64)


def _ngrams(text: Sequence[Hashable], order: int) -> Iterable[Hashable]:
    """Yield the n-grams of a text: pieces of a string, tuples of words."""
    last = len(text) - order + 1
    return (text[at : at + order] if isinstance(text, str) else tuple(text[at : at + order]) for at in range(last))
