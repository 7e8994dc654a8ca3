"""Intervals and paired tests."""

from typing import Literal

import pytest

from dragoman.errors import InputError
from dragoman.metrics import bleu, chrf, compare, interval
from dragoman.metrics.significance import score_difference

REFERENCE = [
    f"the {animal} sat on the {thing} and slept well" for animal in ("cat", "dog", "owl") for thing in "abcdefgh"
]
GOOD = [line.replace("slept", "dozed") if number % 3 == 0 else line for number, line in enumerate(REFERENCE)]
BAD = [line.replace("sat on", "was at").replace("well", "long") for line in REFERENCE]


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_a_clear_difference_is_significant(test: Literal["bootstrap", "randomisation"]) -> None:
    found = compare(BAD, GOOD, [REFERENCE], test=test, samples=200)
    assert found.name == "BLEU"
    assert found.baseline.score == pytest.approx(bleu(BAD, [REFERENCE]).score)
    assert found.system.score == pytest.approx(bleu(GOOD, [REFERENCE]).score)
    assert found.difference == pytest.approx(found.system.score - found.baseline.score)
    assert found.difference > 20
    assert found.p_value < 0.01
    assert found.system.low < found.system.score < found.system.high
    assert found.baseline.high < found.system.low


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_equal_systems_do_not_differ(test: Literal["bootstrap", "randomisation"]) -> None:
    found = compare(GOOD, GOOD, [REFERENCE], test=test, samples=100)
    assert found.difference == 0
    assert found.p_value == 1


def test_another_metric_can_be_compared() -> None:
    found = compare(BAD, GOOD, [REFERENCE], metric="chrf", samples=50)
    assert found.name == "chrF2"
    assert found.system.score == pytest.approx(chrf(GOOD, [REFERENCE]).score)


def test_the_signature_names_test_samples_and_seed() -> None:
    signature = compare(BAD, GOOD, [REFERENCE], samples=50).signature
    assert "bs:50" in signature
    assert "seed:" in signature
    assert "ar:50" in compare(BAD, GOOD, [REFERENCE], test="randomisation", samples=50).signature


def test_the_interval_of_one_system_surrounds_its_score() -> None:
    found = interval(GOOD, [REFERENCE], samples=200)
    assert found.score == pytest.approx(bleu(GOOD, [REFERENCE]).score)
    assert found.low < found.score < found.high
    assert found.high - found.low < 20


def test_different_line_counts_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        compare(GOOD, BAD[:5], [REFERENCE])
    assert str(caught.value) == "there are 5 translations but reference 1 has 24 lines; they must match line by line"
    with pytest.raises(InputError):
        interval(GOOD[:5], [REFERENCE])


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_a_difference_has_an_interval(metric: Literal["bleu", "chrf"]) -> None:
    score = {"bleu": bleu, "chrf": chrf}[metric]
    found = score_difference(BAD, GOOD, REFERENCE, metric=metric, samples=200)
    assert found.score == pytest.approx(score(GOOD, [REFERENCE]).score - score(BAD, [REFERENCE]).score)
    assert 0 < found.low < found.score < found.high


def test_the_difference_of_bleu_has_an_interval() -> None:
    found = score_difference(BAD, GOOD, REFERENCE, samples=200)
    assert found.score == pytest.approx(bleu(GOOD, [REFERENCE]).score - bleu(BAD, [REFERENCE]).score)
    assert 0 < found.low < found.score < found.high
    opposite = score_difference(GOOD, BAD, REFERENCE, samples=200)
    assert (opposite.score, opposite.low, opposite.high) == pytest.approx((-found.score, -found.high, -found.low))
    same = score_difference(GOOD, GOOD, REFERENCE, samples=20)
    assert (same.score, same.low, same.high) == (0, 0, 0)
    with pytest.raises(InputError):
        score_difference(GOOD, BAD[1:], REFERENCE)


def test_the_interval_of_the_difference_leaves_out_a_fortieth_on_either_side() -> None:
    """One of three sentences is better. Resampled, it is drawn three times in one of 27 cases, more often than a fortieth."""
    baseline, system = [BAD[0], *REFERENCE[1:3]], REFERENCE[:3]
    found = score_difference(baseline, system, REFERENCE[:3], samples=4000)
    thrice = score_difference(baseline[:1], system[:1], REFERENCE[:1], samples=1)
    assert (found.low, found.high) == pytest.approx((0.0, thrice.score)) and found.score < found.high


def test_systems_are_compared_by_the_words_of_their_script() -> None:
    reference = [
        f"我今天{verb}了{noun}。" for verb in ("买", "看", "写", "借") for noun in ("一本书", "两封信", "三首歌")
    ]
    good, bad = ([line.replace(*change) for line in reference] for change in (("今天", "昨天"), ("我今天", "他昨天")))
    found = compare(bad, good, [reference], samples=100)
    assert "|tok:zh|" in found.signature and found.difference > 1 and found.p_value < 0.05
    assert score_difference(bad, good, reference, samples=20).score == pytest.approx(found.difference)
    assert interval(good, [reference], samples=20).score == found.system.score


def test_the_interval_of_a_score_does_not_go_below_zero() -> None:
    hypotheses, references = ["a b c d e", *["x y"] * 9], ["a b c d e", *["p q r s t u v w"] * 9]
    found = interval(hypotheses, [references], samples=200)
    assert found.low == 0 < found.score < found.high
