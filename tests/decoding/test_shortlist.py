"""Searching among few output tokens. That translators do so is tested in `tests/jobs/test_shortlist.py`."""

import torch

from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, SearchStep
from dragoman.decoding.shortlist import RestoredWatch, Shortlist, restore_vocabulary_ids

KEPT = torch.tensor([0, 1, 2, 3, 5, 8])


def test_a_batch_may_use_what_each_of_its_source_tokens_brings_along() -> None:
    shortlist = Shortlist(torch.arange(4), torch.tensor([[0, 0], [7, 5], [5, 6]]))
    assert shortlist.union(torch.tensor([[1, 0], [1, 1]])).tolist() == [0, 1, 2, 3, 5, 7]
    assert shortlist.union(torch.tensor([[1, 2]])).tolist() == [0, 1, 2, 3, 5, 6, 7]


def test_what_a_source_wishes_for_is_listed_for_it_alone() -> None:
    shortlist = Shortlist(torch.arange(4), torch.tensor([[0, 0], [7, 5], [5, 6]]))
    listed = shortlist.listed(torch.tensor([[1], [2]]), torch.tensor([[9, 2], [2, 0]]))
    assert listed.kept.tolist() == [0, 1, 2, 3, 5, 6, 7, 9]
    assert listed.allowed is not None
    assert listed.allowed[:, 4:].tolist() == [[True, False, True, True], [True, True, False, False]]
    alone = shortlist.listed(torch.tensor([[1]]), torch.tensor([[9]]))
    assert alone.kept.tolist() == [0, 1, 2, 3, 5, 7, 9]


def test_hypotheses_get_the_ids_of_the_vocabulary_again() -> None:
    found = Hypotheses([[Hypothesis([4, 5, 4], -1.0, -2.0)], [Hypothesis([], -3.0, -3.0)]])
    restored = restore_vocabulary_ids(found, KEPT)
    assert restored.ids == [[[5, 8, 5]], [[]]]
    assert (restored.log_prob, restored.score) == (found.log_prob, found.score)


def test_whoever_watches_sees_ids_of_the_vocabulary() -> None:
    seen: list[SearchStep] = []

    class Mine:
        def abandoned(self) -> list[int]:
            return [7]

        def see(self, step: SearchStep) -> None:
            seen.append(step)

    watch = RestoredWatch(Mine(), KEPT)
    watch.see(SearchStep({2: [Hypothesis([4], -1.0, -1.0)]}, lambda: {3: [Hypothesis([5, 4], -1.0, -1.0)], 5: []}))
    assert watch.abandoned() == [7]
    assert {row: [one.ids for one in some] for row, some in seen[0].completed.items()} == {2: [[5]]}
    assert {row: [one.ids for one in some] for row, some in seen[0].open_hypotheses().items()} == {3: [[8, 5]], 5: []}
