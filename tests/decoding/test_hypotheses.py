"""What search returns."""

from dragoman.decoding import Hypothesis
from dragoman.decoding.hypotheses import ranked


def test_alternatives_come_sentence_by_sentence_best_first() -> None:
    found = ranked(
        [[Hypothesis([4], -3.0, -1.5), Hypothesis([5, 6], -2.0, -0.5)], [Hypothesis([], -1.0, -1.0)]],
        count=2,
    )
    assert found.ids == [[[5, 6], [4]], [[]]]
    assert (found.log_prob, found.score) == ([[-2.0, -3.0], [-1.0]], [[-0.5, -1.5], [-1.0]])
    assert found.alternatives()[0] == [Hypothesis([5, 6], -2.0, -0.5), Hypothesis([4], -3.0, -1.5)]
    assert found.best() == [Hypothesis([5, 6], -2.0, -0.5), Hypothesis([], -1.0, -1.0)]
    assert len(found) == 2


def test_no_more_than_asked_for_is_kept() -> None:
    assert ranked([[Hypothesis([4], -3.0, -1.5), Hypothesis([5], -2.0, -0.5)]], count=1).ids == [[[5]]]
