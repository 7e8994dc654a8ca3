"""What pieces become is learned from pairs."""

import numpy as np

from dragoman.data.likely import frequent_targets, likely_targets

PAIRS = [([4, 5], [7, 8]), ([4], [7]), ([5, 6], [8, 9]), ([6], [9]), ([], [7]), ([6], [])]


def by_hand(pairs: list[tuple[list[int], list[int]]], rounds: int) -> dict[tuple[int, int], float]:
    """IBM model 1 as plain loops."""
    chances = {(f, e): 1.0 for source, target in pairs for f in [0, *source] for e in target}
    for _ in range(rounds):
        expected = dict.fromkeys(chances, 0.0)
        for source, target in pairs:
            for e in target:
                whole = sum(chances[f, e] for f in [0, *source])
                for f in [0, *source]:
                    expected[f, e] += chances[f, e] / whole
        sums: dict[int, float] = {}
        for (f, _), value in expected.items():
            sums[f] = sums.get(f, 0.0) + value
        chances = {(f, e): value / sums[f] for (f, e), value in expected.items()}
    return chances


def test_the_likeliest_come_first_as_plain_loops_have_them() -> None:
    generator = np.random.default_rng(1)
    pairs = [
        (generator.integers(4, 9, 4).tolist(), generator.integers(4, 12, generator.integers(1, 5)).tolist())
        for _ in range(30)
    ]
    chances = by_hand(pairs, 5)
    found = likely_targets(pairs, (9, 12), 3)
    for source in [0, *range(4, 9)]:
        best = sorted((e for f, e in chances if f == source), key=lambda e: -chances[source, e])[:3]
        assert found[source].tolist() == best


def test_pairs_that_share_words_tell_them_apart() -> None:
    assert likely_targets(PAIRS, (7, 10), 1)[4:].ravel().tolist() == [7, 8, 9]


def test_missing_pieces_are_filled_up_with_padding() -> None:
    found = likely_targets(PAIRS, (9, 10), 5)
    assert found[8].tolist() == [0] * 5
    assert set(found[4].tolist()) == {7, 8, 0}
    assert likely_targets([], (5, 5), 2).tolist() == [[0, 0]] * 5


def test_frequent_pieces_are_those_that_occur_most() -> None:
    assert frequent_targets(PAIRS, 1).tolist() == [7]
    assert sorted(frequent_targets(PAIRS, 50).tolist()) == [7, 8, 9]
    assert frequent_targets([], 3).tolist() == []


def test_padding_may_have_other_ids() -> None:
    def moved(ids: list[int]) -> list[int]:
        """Return ids of vocabularies in which PAD is 1 and what was 1 is 0."""
        return [{0: 1, 1: 0}.get(index, index) for index in ids]

    usual = likely_targets(PAIRS, (9, 10), 5)
    other = likely_targets(PAIRS, (9, 10), 5, padding=(1, 1))
    assert [moved(row) for row in usual[moved(list(range(9)))].tolist()] == other.tolist()
