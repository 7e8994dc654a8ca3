"""Counts of linked tokens."""

from collections import Counter

import numpy as np
import pytest

from dragoman.data import link_counts as module
from dragoman.data.link_counts import LinkedPair, count_links


@pytest.mark.parametrize("at_once", [1, 3, 4096])
def test_counts_are_those_of_a_plain_loop(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    pairs = []
    expected: Counter[tuple[int, int]] = Counter()
    for _ in range(7):
        source, target = (rng.integers(4, 9, size).astype(np.int32) for size in rng.integers(1, 6, 2))
        links = rng.random((len(target), len(source))) < 0.4
        pairs.append(LinkedPair(source, target, links))
        for row, linked in zip(target.tolist(), links.tolist(), strict=True):
            for column, one in zip(source.tolist(), linked, strict=True):
                if one:
                    expected[column, row] += 1 / sum(linked)
    found = count_links(pairs)
    entries = zip(found.sources.tolist(), found.targets.tolist(), strict=True)
    assert dict(zip(entries, found.counts.tolist(), strict=True)) == pytest.approx(dict(expected))


def test_a_corpus_without_links_has_no_entries() -> None:
    pair = LinkedPair(np.int32([5]), np.int32([6]), np.zeros((1, 1), bool))
    for pairs in ([], [pair]):
        assert len(count_links(pairs).counts) == 0
