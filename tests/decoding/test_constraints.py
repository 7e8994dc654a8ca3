"""Rules on the next token, one by one."""

import pytest
import torch

from dragoman.decoding import Constraint, forbid, forced_prefix, minimum_length, no_repeated_ngram
from dragoman.decoding.constraints import ended_words
from dragoman.interfaces import EOS, Padded

LOG_PROBS = torch.full((2, 8), -2.0)
SENTENCES = torch.tensor([0, 1])


def forbidden(rule: Constraint, prefix: list[list[int]]) -> list[list[int]]:
    """The tokens that `rule` forbids in each row; the others must be untouched."""
    ids = torch.tensor(prefix, dtype=torch.long).reshape(2, -1)
    result = rule(ids, LOG_PROBS, SENTENCES)
    assert set(result.flatten().tolist()) <= {-2.0, -torch.inf}
    assert bool((LOG_PROBS == -2.0).all())
    return [row.isinf().nonzero().flatten().tolist() for row in result]


def test_forbidden_tokens_never_follow() -> None:
    assert forbidden(forbid([0, 5]), [[3], [4]]) == [[0, 5], [0, 5]]


def test_eos_waits_for_the_minimum_length() -> None:
    assert forbidden(minimum_length(2), [[3], [4]]) == [[EOS], [EOS]]
    assert forbidden(minimum_length(2), [[3, 4], [4, 4]]) == [[], []]


@pytest.mark.parametrize(
    ("size", "prefix", "expected"),
    [
        (1, [[3, 4], [5, 5]], [[3, 4], [5]]),
        (2, [[3, 4, 3], [3, 4, 5]], [[4], []]),
        (2, [[3, 3], [3, 4]], [[3], []]),
        (1, [[3], [4]], [[3], [4]]),
        (2, [[3, 3, 3], [3, 4, 4]], [[3], [4]]),
        (3, [[3, 4, 5, 3, 4], [3, 4, 5, 4, 3]], [[5], []]),
        (3, [[3, 4], [3, 3]], [[], []]),
    ],
)
def test_ngrams_that_occurred_may_not_follow_again(
    size: int, prefix: list[list[int]], expected: list[list[int]]
) -> None:
    found = forbidden(no_repeated_ngram(size), prefix)
    assert [[token for token in row if token != 0] for row in found] == expected


def test_rows_follow_the_prefix_of_their_own_sentence() -> None:
    prefixes = Padded(torch.tensor([[7, 7], [6, 5], [4, 0]]), torch.tensor([[True] * 2, [True] * 2, [True, False]]))
    rule = forced_prefix(prefixes)
    result = rule(torch.tensor([[6], [4]]), LOG_PROBS, torch.tensor([1, 2]))
    assert result[0].isfinite().nonzero().flatten().tolist() == [5]
    assert bool(result[1].isfinite().all())
    assert bool(rule(torch.tensor([[6, 5], [4, 3]]), LOG_PROBS, torch.tensor([1, 2])).isfinite().all())


def test_what_another_rule_keeps_from_its_prefix_is_free() -> None:
    rule = forced_prefix(Padded(torch.tensor([[6, 5, 7], [6, 5, 7]]), torch.ones(2, 3, dtype=torch.bool)))
    allowed = forbid([5])(torch.empty(2, 0, dtype=torch.long), LOG_PROBS, SENTENCES)
    result = rule(torch.tensor([[6], [6]]), allowed, SENTENCES)
    assert bool((result == allowed).all())
    assert bool((rule(torch.tensor([[6, 4], [6, 4]]), LOG_PROBS, SENTENCES) == LOG_PROBS).all())


def test_the_last_word_of_a_prefix_ends_with_it_and_no_other_word() -> None:
    prefixes = Padded(torch.tensor([[6, 5], [4, 0]]), torch.tensor([[True, True], [True, False]]))
    rule = ended_words(prefixes, torch.tensor([3, 7]))
    assert forbidden(rule, [[], []]) == [[], []]
    assert forbidden(rule, [[6], [4]]) == [[], [3, 7]]
    assert forbidden(rule, [[6, 5], [4, 5]]) == [[3, 7], []]
    assert forbidden(rule, [[6, 6], [5, 4]]) == [[], []]
    assert forbidden(rule, [[6, 5, 6], [4, 5, 6]]) == [[], []]
    assert forbidden(ended_words(prefixes, torch.tensor([], dtype=torch.long)), [[6, 5], [4, 5]]) == [[], []]
