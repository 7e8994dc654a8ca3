"""Minimum Bayes risk: choose the hypothesis most similar to all others (Kumar and Byrne 2004; Eikema and Aziz 2022).

Beam and samples are both candidates and evidence, equally weighted; the expected utility is their mean similarity. Does not
import torch.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.metrics.utility import Utility, expected_utilities


def least_risk(
    candidates: Sequence[Hypothesis], decode: Callable[[list[int]], str], *, utility: Utility, n_best: int
) -> list[Hypothesis]:
    """Return the `n_best` candidates of different texts with the highest expected utility, which becomes their score.

    Of equal ones, the first stays first.
    """
    texts = [decode(one.ids) for one in candidates]
    scores = expected_utilities(texts, utility)
    first = {text: number for number, text in reversed(list(enumerate(texts)))}
    ranked = sorted(first.values(), key=lambda number: (-scores[number], number))
    return [replace(candidates[number], score=scores[number]) for number in ranked[:n_best]]
