"""Which weights make links, and two runs of opposite directions."""

import pytest
import torch
from tests.tiny import Trained

from dragoman.data.directions import Directions
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection, Side
from dragoman.inference.translator import Translator
from dragoman.jobs import align
from dragoman.jobs.align import align_both_ways, check_reverse, choose_head
from dragoman.metrics import parse_links


def reading(*heads: list[list[float]], layers: int = 1) -> AttentionMap:
    """Return weights of words that are one piece each, with </s> on both sides."""
    rows, columns = len(heads[0]), len(heads[0][0])
    source, target = (
        Side(["w"] * (count - 1) + ["</s>"], ["w"] * (count - 1), [*range(count - 1), None])
        for count in (columns, rows)
    )
    return AttentionMap(source, target, torch.tensor(heads).unflatten(0, (layers, -1)))


STRAIGHT = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
CROSSED = [[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]
LATE = [[0.0, 0.0, 1.0], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0]]


def test_the_best_head_is_chosen() -> None:
    gold = [parse_links("0-0 1-1")]
    assert choose_head([reading(CROSSED, CROSSED, STRAIGHT, CROSSED, layers=2)], gold) == HeadSelection(2, 1)
    assert choose_head([reading(CROSSED, STRAIGHT, STRAIGHT, STRAIGHT, layers=2)], gold) == HeadSelection()
    assert choose_head([reading(LATE)], gold) == HeadSelection(shift=True)


def test_the_choice_is_by_the_sum_over_sentences() -> None:
    readings = [reading(CROSSED, STRAIGHT), reading(CROSSED, STRAIGHT), reading(STRAIGHT, CROSSED)]
    gold = [parse_links("0-0 1-1")] * 3
    assert choose_head(readings, gold) == HeadSelection(1, 2)
    assert choose_head(readings[::-1], [*gold[:2], parse_links("0-1 1-0")]) == HeadSelection(1, 1)


def test_there_must_be_something_to_choose_on() -> None:
    with pytest.raises(InputError, match="there are no sentences to choose a layer and head on"):
        choose_head([], [])


def test_views_name_themselves() -> None:
    assert str(HeadSelection()) == "mean of layers, mean of heads, not shifted"
    assert str(HeadSelection(2, 1, shift=True)) == "layer 2, head 1, shifted"


def test_the_other_direction_is_turned_round() -> None:
    forward, backward = parse_links("0-0 1-2"), parse_links("0-0 2-1 1-1")
    assert align_both_ways([forward], [backward], "intersection") == [parse_links("0-0 1-2")]
    assert align_both_ways([forward], [backward], "union") == [parse_links("0-0 1-2 1-1")]


def test_runs_of_one_direction_are_not_joined(trained: Trained) -> None:
    translator = Translator.load(trained("rnn"))
    with pytest.raises(InputError) as caught:
        check_reverse(translator.directions, ("en", "vi"))
    assert str(caught.value) == (
        "the first run translates from en to vi, so the reverse run must translate from vi to en, but it translates from en "
        "to vi; give a run of the other direction"
    )
    check_reverse(Directions((("vi", "en"),)), ("en", "vi"))
    check_reverse(Directions((("vi", "en"), ("en", "vi")), tagged=True), ("en", "vi"))
    with pytest.raises(InputError, match=r"--from"):
        check_reverse(translator.directions, (None, "vi"))


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_pairs_are_aligned_some_at_a_time(trained: Trained, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    translator, asked = Translator.load(trained("rnn")), list[int]()
    sources, targets = ["I love cats.", "This is a book.", "", "No."], ["Tôi yêu mèo.", "Đây là sách.", "", "Không."]
    whole = [one.links(1, 1) for one in translator.attention_maps(sources, targets)]
    engine = translator.engine.attention_maps

    def counted(requests, *others):
        asked.append(len(requests))
        return engine(requests, *others)

    monkeypatch.setattr(translator.engine, "attention_maps", counted)
    monkeypatch.setattr(align, "AT_ONCE", at_once)
    assert align.align_pairs(translator, sources, targets, view=HeadSelection(1, 1)) == whole
    assert (sum(asked), max(asked)) == (4, min(at_once, 4))
