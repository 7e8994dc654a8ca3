"""Counts of right and wrong labels, against numbers worked out by hand."""

import pytest

from dragoman.metrics.classification import confusion

TRUE = ["a", "a", "a", "b", "b", "c"]
PREDICTED = ["a", "a", "b", "b", "a", "a"]


def test_scores_are_those_worked_out_by_hand():
    found = confusion(("a", "b", "c"), TRUE, PREDICTED)
    assert found.counts == ((2, 1, 0), (1, 1, 0), (1, 0, 0))
    assert (found.total, found.accuracy, found.majority) == (6, 0.5, 0.5)
    assert (found.precision("a"), found.recall("a")) == (0.5, pytest.approx(2 / 3))
    assert [found.f1(label) for label in "abc"] == pytest.approx([4 / 7, 0.5, 0.0])
    assert (found.precision("c"), found.recall("c")) == (0.0, 0.0)
    assert found.macro_f1 == pytest.approx((4 / 7 + 0.5) / 3)


def test_a_label_that_occurs_nowhere_does_not_count():
    assert confusion(("a", "b", "z"), ["a", "b"], ["a", "b"]).macro_f1 == 1.0


def test_a_label_that_is_predicted_but_never_true_counts():
    assert confusion(("a", "b"), ["a", "a"], ["a", "b"]).macro_f1 == pytest.approx(1 / 3)


def test_the_table_says_which_label_is_taken_for_which():
    assert confusion(("a", "long"), ["a", "long"], ["long", "long"]).render().split("\n") == [
        "true \\ predicted  a  long",
        "a                 0     1",
        "long              0     1",
    ]
