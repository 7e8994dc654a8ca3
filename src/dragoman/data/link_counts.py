"""How often each source token of a corpus was linked to each target token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.data.links import TokenLinks
from dragoman.data.store import Ids

AT_ONCE = 4096
"""Pairs of sentences whose links are counted together."""
TARGETS = 1 << 32
"""An entry is one number: its source id times this, plus its target id."""


class LinkedPair(NamedTuple):
    """Ids of a source and a target sentence, and which target token (first axis) translates which source token."""

    source: Ids
    target: Ids
    links: TokenLinks


@dataclass(frozen=True)
class LinkCounts:
    """Counts of linked tokens; a target token that is linked to several source tokens counts a share for each."""

    entries: Int64[np.ndarray, " entries"]
    counts: Float64[np.ndarray, " entries"]

    @property
    def sources(self) -> Int64[np.ndarray, " entries"]:
        """Return the source id of each entry."""
        return self.entries // TARGETS

    @property
    def targets(self) -> Int64[np.ndarray, " entries"]:
        """Return the target id of each entry."""
        return self.entries % TARGETS


def count_links(pairs: Iterable[LinkedPair]) -> LinkCounts:
    """Count the links of sentence pairs.

    >>> links = np.array([[True, False], [True, True]])
    >>> found = count_links([LinkedPair(np.int32([5, 6]), np.int32([7, 8]), links)])
    >>> [tuple(entry) for entry in zip(found.sources.tolist(), found.targets.tolist(), found.counts.tolist())]
    [(5, 7, 1.0), (5, 8, 0.5), (6, 8, 0.5)]
    """
    known = LinkCounts(np.zeros(0, np.int64), np.zeros(0))
    waiting: list[LinkCounts] = []
    for source, target, links in pairs:
        rows, columns = links.nonzero()
        waiting.append(LinkCounts(TARGETS * source[columns].astype(np.int64) + target[rows], 1 / links.sum(1)[rows]))
        if len(waiting) == AT_ONCE:
            known, waiting = _added([known, *waiting]), []
    return _added([known, *waiting])


def _added(parts: Sequence[LinkCounts]) -> LinkCounts:
    """Add up the counts of equal entries."""
    entries, places = np.unique(np.concatenate([one.entries for one in parts]), return_inverse=True)
    return LinkCounts(entries, np.bincount(places, np.concatenate([one.counts for one in parts]), len(entries)))
