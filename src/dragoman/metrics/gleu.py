"""GLEU, Google's BLEU for single sentences, used as a reward in training."""

from collections import Counter
from collections.abc import Hashable, Sequence

ORDER = 4
"""The longest n-grams counted."""


def sentence_gleu(hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> float:
    """Return the smaller of precision and recall of all n-grams of 1 to 4 tokens, from 0 (none shared) to 1 (all shared).

    An n-gram matches at most as often as it occurs in the other sentence; without any n-grams the result is 0. Tokens may be
    words or ids. Source: Wu et al. 2016, section 5.

    >>> sentence_gleu("the cat sat".split(), "the cat sat down".split())
    0.6
    """
    written, wanted = _ngrams(hypothesis), _ngrams(reference)
    most = max(written.total(), wanted.total())
    return (written & wanted).total() / most if most else 0.0


def _ngrams(tokens: Sequence[Hashable]) -> Counter[tuple[Hashable, ...]]:
    """Count the n-grams of 1 to 4 tokens."""
    shifted = [tokens[start:] for start in range(ORDER)]
    return Counter(ngram for order in range(1, ORDER + 1) for ngram in zip(*shifted[:order], strict=False))
