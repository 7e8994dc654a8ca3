"""Rank translations by several models at once: the noisy channel (Yee et al. 2019) and its relatives. Does not import torch.

Yee, Dauphin and Auli, "Simple and effective noisy channel modeling for neural machine translation", section 3, whose reranking
adds to the direct model a channel model p(x|y) and a language model p(y). Here each model has a weight of its own, and each
log-probability is divided by the number of tokens, with </s>, of the text that it predicts, in the model's own vocabulary:

    log p(y|x) / |y| + w1 log p(x|y) / |x| + w2 log p(y) / |y| + ...

Deviations: the paper has one weight for both, and divides the channel and the language model by |x|.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.decoding.hypotheses import Hypothesis

Scorer = Callable[[Sequence[str], Sequence[str]], list[float]]
"""Returns the log-probability per token that a model gives to each pair of a source and a translation."""


def features(
    sources: Sequence[str], texts: Sequence[Sequence[str]], scorers: Sequence[Scorer]
) -> list[list[list[float]]]:
    """Return what each scorer says of each text of each source; the axes are source, text, scorer. Equal texts are scored once.

    >>> features(["a b"], [["x", "y z", "x"]], [lambda sources, texts: [-float(len(text)) for text in texts]])
    [[[-1.0], [-3.0], [-1.0]]]
    """
    pairs = list(dict.fromkeys((source, text) for source, some in zip(sources, texts, strict=True) for text in some))
    columns = [score([source for source, _ in pairs], [text for _, text in pairs]) for score in scorers]
    known = {pair: list(scores) for pair, *scores in zip(pairs, *columns, strict=True)}
    return [[known[source, text] for text in some] for source, some in zip(sources, texts, strict=True)]


def combined(direct: float, others: Sequence[float], weights: Sequence[float]) -> float:
    """Return the score of a translation from the log-probabilities per token of the direct model and of the others.

    >>> combined(-1.0, [-2.0, -4.0], [0.5, 0.25])
    -3.0
    """
    return direct + sum(weight * other for weight, other in zip(weights, others, strict=True))


def rerank(
    hypotheses: Sequence[Hypothesis], others: Sequence[Sequence[float]], weights: Sequence[float], *, n_best: int
) -> list[Hypothesis]:
    """Return the `n_best` hypotheses by `combined`, which becomes their score; of equal ones, the first stays first."""
    scored = [
        replace(one, score=combined(one.per_token, scores, weights))
        for one, scores in zip(hypotheses, others, strict=True)
    ]
    return sorted(scored, key=lambda one: -one.score)[:n_best]
