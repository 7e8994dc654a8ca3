"""What search returns."""

from typing import Any

import pytest
import torch
from jaxtyping import Float, Int
from tests.decoding.toys import ToyDecoder, encoded
from torch import Tensor

from dragoman.decoding import DecodingSettings, Hypothesis, SearchStep, beam_search, step_of
from dragoman.decoding.hypotheses import WatchedPart, ranked

SOURCES = [3, 11, 42]


def test_alternatives_come_sentence_by_sentence_best_first() -> None:
    found = ranked(
        [[Hypothesis([4], -3.0, -1.5), Hypothesis([5, 6], -2.0, -0.5)], [Hypothesis([], -1.0, -1.0)]],
        count=2,
    )
    assert found.ids == [[[5, 6], [4]], [[]]]
    assert (found.log_prob, found.score) == ([[-2.0, -3.0], [-1.0]], [[-0.5, -1.5], [-1.0]])
    assert found.alternatives()[0] == [Hypothesis([5, 6], -2.0, -0.5), Hypothesis([4], -3.0, -1.5)]
    assert found.best() == [Hypothesis([5, 6], -2.0, -0.5), Hypothesis([], -1.0, -1.0)]
    assert len(found) == 2


def test_no_more_than_asked_for_is_kept() -> None:
    assert ranked([[Hypothesis([4], -3.0, -1.5), Hypothesis([5], -2.0, -0.5)]], count=1).ids == [[[5]]]


class Impatient:
    """Gives up some sentences after some steps, and notes what it saw."""

    def __init__(self, gone: set[int], after: int) -> None:
        self.gone, self.after = gone, after
        self.opened: list[set[int]] = []

    def abandoned(self) -> set[int]:
        return self.gone if len(self.opened) >= self.after else set()

    def see(self, step: SearchStep) -> None:
        self.opened.append(set(step.open_hypotheses()))


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 3])
def test_sentences_that_are_given_up_stop_costing_and_others_do_not_notice(size: int, after: int) -> None:
    decoder, settings = ToyDecoder(), DecodingSettings(beam=size, minimum_length=3)
    start = decoder.start(encoded(SOURCES))
    alone = beam_search(step_of(decoder), start, torch.tensor([5, 5, 5]), settings=settings)
    watch = Impatient({1}, after)
    state = decoder.start(encoded(SOURCES))
    found = beam_search(step_of(decoder), state, torch.tensor([5, 5, 5]), settings=settings, watch=watch)
    assert found.ids == [alone.ids[0], [], alone.ids[2]]
    assert all(1 in opened for opened in watch.opened[:after])
    assert all(1 not in opened for opened in watch.opened[after:])


def test_a_watch_over_a_batch_speaks_of_sentences_by_their_numbers_among_all() -> None:
    watch, seen = Impatient({2, 5}, 0), list[SearchStep]()
    watch.see = seen.append  # type: ignore[method-assign]
    part, found = WatchedPart(watch, (7, 2, 5)), [Hypothesis([4], -1.0, -1.0)]
    part.see(SearchStep({0: found, 2: []}, lambda: {1: found}))
    assert sorted(part.abandoned()) == [1, 2] and list(WatchedPart(Impatient(set(), 0), (2,)).abandoned()) == []
    assert seen[0].completed == {7: found, 5: []} and seen[0].open_hypotheses() == {2: found}


def test_a_search_that_nobody_waits_for_takes_no_step() -> None:
    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        raise AssertionError

    state = ToyDecoder().start(encoded(SOURCES))
    watch = Impatient({0, 1, 2}, 0)
    found = beam_search(step, state, torch.tensor([5, 5, 5]), settings=DecodingSettings(), watch=watch)
    assert found.ids == [[], [], []]
