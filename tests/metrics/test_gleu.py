"""The GLEU of a sentence, by hand and by its definition."""

import random

import pytest

from dragoman.metrics.gleu import sentence_gleu


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("a b c d e", "a b c d e", 1.0),
        ("a b c", "x y z", 0.0),
        ("a b c", "a b c d", 6 / 10),  # all of 3 + 2 + 1 n-grams match, of 4 + 3 + 2 + 1 wanted: recall is the smaller
        ("a b c d", "a b c", 6 / 10),  # and here precision
        ("a a a", "a b", 1 / 6),  # the second and third `a` match nothing
        ("a b c d e", "a b x d e", 6 / 14),  # 4 words and the pairs `a b`, `d e`; no n-gram of 5 is counted
        ("b a", "a b", 2 / 3),
        ("", "a", 0.0),
        ("", "", 0.0),
    ],
)
def test_gleu_equals_what_is_worked_by_hand(hypothesis: str, reference: str, expected: float) -> None:
    assert sentence_gleu(hypothesis.split(), reference.split()) == pytest.approx(expected)


def test_gleu_is_the_smaller_of_precision_and_recall_and_does_not_know_which_side_is_which() -> None:
    """Wu et al. 2016, section 5, and nltk's sentence_gleu: matches over the larger of the two counts of n-grams."""
    rng = random.Random(3)
    for _ in range(200):
        one, other = ([rng.randrange(4) for _ in range(rng.randrange(9))] for _ in range(2))
        matches = sum(min(one_count, _counts(other).get(n, 0)) for n, one_count in _counts(one).items())
        written, wanted = sum(_counts(one).values()), sum(_counts(other).values())
        expected = min(matches / written, matches / wanted) if written and wanted else 0.0
        assert sentence_gleu(one, other) == sentence_gleu(other, one) == pytest.approx(expected)


def _counts(tokens: list[int]) -> dict[str, int]:
    """How often each run of 1 to 4 tokens stands in a sentence, by a plain loop."""
    counts: dict[str, int] = {}
    for first in range(len(tokens)):
        for after in range(first + 1, min(first + 4, len(tokens)) + 1):
            ngram = " ".join(map(str, tokens[first:after]))
            counts[ngram] = counts.get(ngram, 0) + 1
    return counts
