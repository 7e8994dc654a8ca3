"""The teaching view of BLEU: examples of the literature, and agreement with sacreBLEU."""

import math
from fractions import Fraction

import pytest

from dragoman.errors import InputError
from dragoman.metrics import bleu, d2l_bleu, explain
from dragoman.metrics.explain import brevity_penalty

CATS = ["The cat is on the mat.", "There is a cat on the mat."]
FOX = ("the fast brown fox jumped over the sleepy dog", ["the quick brown fox jumped over the lazy dog"])


def test_words_count_no_more_often_than_in_a_reference() -> None:
    unigrams = explain("the the the the the the the", CATS, lowercase=True).precisions[0]
    assert [(ngram.words, ngram.count, ngram.clipped) for ngram in unigrams.ngrams] == [(("the",), 7, 2)]
    assert unigrams.value == Fraction(2, 7)


def test_bigrams_may_come_from_different_references() -> None:
    bigrams = explain("the cat the cat on the mat", CATS, lowercase=True).precisions[1]
    assert (bigrams.matched, bigrams.total) == (4, 6)
    counts = {" ".join(ngram.words): (ngram.count, ngram.clipped) for ngram in bigrams.ngrams}
    assert counts == {"the cat": (2, 1), "cat the": (1, 0), "cat on": (1, 1), "on the": (1, 1), "the mat": (1, 1)}


def test_the_score_is_the_geometric_mean_of_the_precisions() -> None:
    explanation = explain(*FOX)
    values = [precision.value for precision in explanation.precisions]
    assert values == [Fraction(7, 9), Fraction(4, 8), Fraction(3, 7), Fraction(2, 6)]
    assert explanation.brevity_penalty == 1
    assert explanation.bleu == pytest.approx(0.4855, abs=5e-5)


@pytest.mark.parametrize(
    ("hypothesis", "references"),
    [
        FOX,
        ("The cat is on a mat, isn't it?", CATS),
        ("cat on mat", CATS),
        ("the cat", CATS),
        ("one two three four five six", ["one x two x three", "y two three z four"]),
        ("nothing alike at all here", CATS),
        ("", CATS),
        ("The cat is on the mat.", ["The cat is on the mat."]),
        ("a b c d e", ["a b c d", "a b c d e f"]),
        ("a b c d e f", [""]),
    ],
)
@pytest.mark.parametrize("tokenize", ["13a", "char"])
def test_the_score_is_sacrebleus(hypothesis: str, references: list[str], tokenize: str) -> None:
    expected = bleu([hypothesis], [[reference] for reference in references], tokenize=tokenize).score
    assert 100 * explain(hypothesis, references, tokenize=tokenize).bleu == pytest.approx(expected)


def test_the_text_shows_every_step() -> None:
    text = explain("the cat", ["the cat sat"], order=3).render()
    assert text.split("\n") == [
        "candidate   the cat",
        "reference   the cat sat",
        "",
        "1-grams",
        "  n-gram  count  clipped",
        "  the         1        1",
        "  cat         1        1",
        "  p1 = 2/2 = 1.0000",
        "",
        "2-grams",
        "  n-gram   count  clipped",
        "  the cat      1        1",
        "  p2 = 1/1 = 1.0000",
        "",
        "3-grams",
        "  none: the candidate is too short",
        "  p3 = 0",
        "",
        "brevity penalty   0.6065   (2 words, closest reference 3: exp(1 - 3/2))",
        "BLEU   0.0000 = 0.6065 * (1.0000 * 1.0000 * 0.0000) ** (1/3), written as 0.00",
    ]


def test_the_text_shows_what_clipping_takes_away() -> None:
    text = explain("the the the the the the the", CATS, lowercase=True).render()
    assert "  the         7        2" in text
    assert "  p1 = 2/7 = 0.2857 (7/7 unclipped)" in text
    assert "p2 = 0/6 = 0.0000, smoothed" in text
    assert "  p2 = 4/6 = 0.6667 (5/6 unclipped)" in explain("the cat the cat on the mat", CATS, lowercase=True).render()


def test_the_text_shows_smoothing() -> None:
    text = explain("the dog sat", ["the cat sat"], order=2).render()
    assert "  p2 = 0/2 = 0.0000, smoothed to 0.2500" in text
    assert "(3 words, closest reference 3: not shorter)" in text
    assert "no words" in explain("", ["the cat sat"]).render()


def test_longer_candidates_are_not_punished() -> None:
    assert brevity_penalty(9, 4) == 1
    assert brevity_penalty(4, 9) == pytest.approx(math.exp(1 - 9 / 4))


@pytest.mark.parametrize(
    ("prediction", "label", "expected"),
    [
        ("il est riche .", "il est calme .", 0.658),
        ("je suis calme .", "je suis chez moi .", 0.512),
        ("va !", "va !", 1.0),
        ("", "va !", 0.0),
        ("va", "va !", 0.0),
    ],
)
def test_the_short_sentence_bleu_of_d2l(prediction: str, label: str, expected: float) -> None:
    assert d2l_bleu(prediction, label, 2) == pytest.approx(expected, abs=5e-4)


def test_no_reference_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        explain("the cat", [])
    assert str(caught.value) == ("there is nothing to compare the translation with; give at least one reference")


@pytest.mark.parametrize(
    ("references", "nearest"),
    [(["a b", "a b c d e f"], 6), (["a b c d", "a b c d e f"], 4), (["a", "a b c d e f g h i", "a b c"], 3)],
)
def test_the_nearest_reference_in_length_counts_and_of_two_the_shorter(references: list[str], nearest: int) -> None:
    explanation = explain("a b c d x", references)
    assert explanation.reference_length == nearest
    assert explanation.brevity_penalty == pytest.approx(brevity_penalty(5, nearest))
