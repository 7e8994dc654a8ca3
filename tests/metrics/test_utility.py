"""The utility of minimum Bayes risk decoding is what sacreBLEU says of each pair."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.metrics.utility import Utility, expected_utilities, similarities

TEXTS = [
    "Tôi yêu mèo.",
    "tôi yêu những con mèo .",
    "Mèo",
    "",
    "a",
    "I love cats, cats and cats!",
    "a b c d e f g h i",
    "a b",
]
METRICS = {"chrf": CHRF(), "bleu": BLEU(effective_order=True)}
WORDS = st.lists(st.sampled_from(["a", "bb", "abc", "c.", "Đây", "2,5", "it's", "("]), max_size=9).map(" ".join)


def check(texts: list[str], utility: Utility) -> None:
    """Compare every pair."""
    found = similarities(texts, utility)
    for hypothesis, row in zip(texts, found.tolist(), strict=True):
        for reference, score in zip(texts, row, strict=True):
            expected = METRICS[utility].sentence_score(hypothesis, [reference]).score / 100
            assert score == pytest.approx(expected, abs=1e-9), (hypothesis, reference)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_similarities_are_those_of_sacrebleu(utility: Utility) -> None:
    check(TEXTS, utility)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(WORDS, min_size=1, max_size=4))
def test_similarities_of_any_texts_are_those_of_sacrebleu(utility: Utility, texts: list[str]) -> None:
    check(texts, utility)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_texts_count_as_often_as_they_occur(utility: Utility) -> None:
    once, other = "the cat sat on the mat", "a dog ran in the park"
    similar = similarities([once, other], utility)
    found = expected_utilities([once, other, other], utility)
    assert found[0] == pytest.approx((similar[0, 0] + 2 * similar[0, 1]) / 3)
    assert found[1] == found[2] == pytest.approx((similar[1, 0] + 2 * similar[1, 1]) / 3)
    assert expected_utilities([], utility) == []


def test_texts_without_spaces_between_words_resemble_one_another() -> None:
    texts = ["我喜欢红色的猫。", "我喜欢白色的猫。", "他去了学校。"]
    metric, found = BLEU(tokenize="zh", effective_order=True), similarities(texts, "bleu")
    assert found[0, 1] == pytest.approx(metric.sentence_score(texts[0], [texts[1]]).score / 100) and found[0, 1] > 0.3
