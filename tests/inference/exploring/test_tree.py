"""A tree of made-up steps."""

import pytest

from dragoman.decoding.hypotheses import Candidate, SearchStep
from dragoman.decoding.settings import SearchSettings
from dragoman.errors import RunError
from dragoman.inference.exploring.tree import grow


def step(*candidates: Candidate) -> SearchStep:
    return SearchStep({}, dict, lambda: {0: [*candidates]})


def test_a_tree_knows_parents_fates_and_the_best_leaf() -> None:
    first = step(Candidate(0, 7, -1.0, place=0), Candidate(0, 8, -2.0, place=1), Candidate(0, 9, -3.0))
    second = step(Candidate(1, 2, -2.5, ended=True), Candidate(0, 2, -2.75, ended=True))
    tree = grow([first, second], SearchSettings(length_normalisation="none"))
    assert [node.fate for node in tree.nodes] == ["followed", "followed", "pruned", "ended", "ended"]
    assert [node.parent for node in tree.nodes] == [-1, -1, -1, 1, 0]
    assert tree.tokens(tree.best) == [8, 2] and tree.nodes[tree.best].log_prob == -0.5
    assert (tree.row_before(tree.best), tree.row_before(0)) == (1, 0)
    assert (tree.find([7, 2]), tree.find([9]), tree.find([9, 2])) == (4, 2, None)


def test_a_search_without_an_end_had_damaged_weights() -> None:
    with pytest.raises(RunError, match="NaN"):
        grow([step()], SearchSettings())
