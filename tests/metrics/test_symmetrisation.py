"""Two directions of word links made into one, against grids worked by hand and a plain implementation with matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.metrics.symmetrisation import grow_diag_final_and, symmetrise
from dragoman.text.links import Links

LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)

GRIDS = {
    "an intersection grows along the diagonal": ("X.. .X. ...", "X.. ... ..X", "X.. .X. ..X"),
    "a cell that links nothing new stays out": ("XX XX", "XX .X", "XX .X"),
    "both words of a far link must be free": ("X... .... ...X", "XX.. .... ....", "XX.. .... ...X"),
    "a far link of a linked word stays out": ("X..X .... ....", "X... .... ....", "X... .... ...."),
    "without agreement every link is a far one": ("X.. ... ...", "... .X. ...", "X.. .X. ..."),
    "growth goes on until nothing is added": (".X. .X. ..X", "... ... ..X", ".X. .X. ..X"),
    "what was just added grows too": ("X... .X.. ..X.", "X... .... ....", "X... .X.. ..X."),
}


def links(grid: str) -> frozenset[tuple[int, int]]:
    """Read rows of source words, columns of target words, from marks."""
    rows = grid.split()
    return frozenset((i, j) for i, row in enumerate(rows) for j, mark in enumerate(row) if mark == "X")


def plain(forward: frozenset[tuple[int, int]], backward: frozenset[tuple[int, int]], size: int) -> set[tuple[int, int]]:
    """Do grow-diag-final-and with matrices, as the pseudo-code of Koehn's group has it."""
    one, other = np.zeros((size, size), bool), np.zeros((size, size), bool)
    for matrix, found in ((one, forward), (other, backward)):
        for i, j in found:
            matrix[i, j] = True
    union, result = one | other, one & other
    neighbouring = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    added = True
    while added:
        added = False
        for i in range(size):
            for j in range(size):
                if not result[i, j]:
                    continue
                for di, dj in neighbouring:
                    x, y = i + di, j + dj
                    if not (0 <= x < size and 0 <= y < size) or not union[x, y] or result[x, y]:
                        continue
                    if not result[x].any() or not result[:, y].any():
                        result[x, y] = added = True
    for matrix in (one, other):
        for i in range(size):
            for j in range(size):
                if matrix[i, j] and not result[i].any() and not result[:, j].any():
                    result[i, j] = True
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(result), strict=True)}


@pytest.mark.parametrize("name", GRIDS)
def test_grids_worked_by_hand(name: str) -> None:
    forward, backward, expected = map(links, GRIDS[name])
    assert grow_diag_final_and(forward, backward) == expected


@given(LINKS, LINKS)
def test_the_plain_implementation_agrees(forward: frozenset[tuple[int, int]], backward: frozenset[tuple[int, int]]):
    assert grow_diag_final_and(forward, backward) == plain(forward, backward, 6)


@given(LINKS, LINKS)
def test_the_result_lies_between_intersection_and_union(
    forward: frozenset[tuple[int, int]], backward: frozenset[tuple[int, int]]
):
    one, other = Links(forward), Links(backward)
    assert symmetrise(one, other, "intersection").sure == forward & backward
    assert symmetrise(one, other, "union").sure == forward | backward
    found = symmetrise(one, other).sure
    assert forward & backward <= found <= forward | backward
    assert symmetrise(one, one).sure == forward


def test_links_that_are_possible_only_count_in_full() -> None:
    one = Links(frozenset(), frozenset({(0, 0)}))
    assert symmetrise(one, one, "intersection").sure == {(0, 0)}
