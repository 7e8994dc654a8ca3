"""A lexicon of tokens: how often each source token was linked to each target token of a corpus."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.data.links import TokenLinks
from dragoman.data.store import Ids

AT_ONCE = 4096
"""Pairs of sentences whose links are counted together."""


class LinkedPair(NamedTuple):
    """Ids of a source and a target sentence, and which target token (first axis) translates which source token."""

    source: Ids
    target: Ids
    links: TokenLinks


@dataclass(frozen=True)
class Lexicon:
    """Counts of linked tokens; a target token that is linked to several source tokens counts a share for each."""

    sources: Int64[np.ndarray, " entries"]
    targets: Int64[np.ndarray, " entries"]
    counts: Float64[np.ndarray, " entries"]


def count_links(pairs: Iterable[LinkedPair]) -> Lexicon:
    """Count the links of sentence pairs.

    >>> links = np.array([[True, False], [True, True]])
    >>> lexicon = count_links([LinkedPair(np.int32([5, 6]), np.int32([7, 8]), links)])
    >>> [tuple(entry) for entry in zip(lexicon.sources.tolist(), lexicon.targets.tolist(), lexicon.counts.tolist())]
    [(5, 7, 1.0), (5, 8, 0.5), (6, 8, 0.5)]
    """
    known = np.zeros((0, 2), np.int64), np.zeros(0)
    waiting: list[tuple[Int64[np.ndarray, "links 2"], Float64[np.ndarray, " links"]]] = []
    for source, target, links in pairs:
        rows, columns = links.nonzero()
        waiting.append((np.stack([source[columns], target[rows]], 1).astype(np.int64), 1 / links.sum(1)[rows]))
        if len(waiting) == AT_ONCE:
            known, waiting = _added([known, *waiting]), []
    (entries, counts) = _added([known, *waiting])
    return Lexicon(entries[:, 0], entries[:, 1], counts)


def _added(
    parts: list[tuple[Int64[np.ndarray, "_ 2"], Float64[np.ndarray, " _"]]],
) -> tuple[Int64[np.ndarray, "entries 2"], Float64[np.ndarray, " entries"]]:
    """Add up the counts of equal entries."""
    entries, places = np.unique(np.concatenate([one for one, _ in parts]), axis=0, return_inverse=True)
    return entries, np.bincount(places.ravel(), np.concatenate([counts for _, counts in parts]), len(entries))
