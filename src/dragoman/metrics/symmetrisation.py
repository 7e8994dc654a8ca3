"""Symmetrise two word alignments, source to target and target to source."""

from typing import Literal

from dragoman.text.links import Links

Link = tuple[int, int]
Symmetrisation = Literal["grow-diag-final-and", "intersection", "union"]

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""Offsets of the eight neighbours of a cell, straight ones first."""


def symmetrise(forward: Links, backward: Links, how: Symmetrisation = "grow-diag-final-and") -> Links:
    """Combine two alignments of the same pair, both as (source, target); merely possible links count in full.

    >>> forward, backward = Links(frozenset({(0, 0), (1, 1)})), Links(frozenset({(0, 0), (0, 1)}))
    >>> sorted(symmetrise(forward, backward, "intersection").sure)
    [(0, 0)]
    >>> sorted(symmetrise(forward, backward).sure)
    [(0, 0), (0, 1), (1, 1)]
    """
    there, back = forward.possible, backward.possible
    match how:
        case "grow-diag-final-and":
            return Links(grow_diag_final_and(there, back))
        case "intersection":
            return Links(there & back)
        case "union":
            return Links(there | back)


def grow_diag_final_and(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    """Start from the intersection, and add neighbouring links of the union (Koehn et al. 2003, 2005).

    grow-diag: as long as links are added, go through the links by source, then target position, including those just added;
    for each, add the neighbouring links, also diagonal ones, if one of their words has no link yet. final-and: go through
    the links of `forward`, then of `backward`, and add those whose words both have no link.

    >>> sorted(grow_diag_final_and(frozenset({(0, 0), (1, 1), (3, 3)}), frozenset({(0, 0), (1, 2)})))
    [(0, 0), (1, 1), (1, 2), (3, 3)]
    """
    either = forward | backward
    links = set(forward & backward)
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: Link) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    before = -1
    while len(links) > before:
        before = len(links)
        for i, j in (link for link in sorted(either) if link in links):
            for near in ((i + down, j + right) for down, right in NEIGHBOURS):
                if near not in links and near in either and not (near[0] in sources and near[1] in targets):
                    add(near)
    for link in (*sorted(forward), *sorted(backward)):
        if link[0] not in sources and link[1] not in targets:
            add(link)
    return frozenset(links)
