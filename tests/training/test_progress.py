"""How far training has come."""

from math import inf, nan

import pytest

from dragoman.data.collate import collate
from dragoman.laws.examples import batch
from dragoman.special_ids import SpecialIds
from dragoman.training.progress import Progress, RunningTotals
from dragoman.training.settings import OptimisationSettings
from dragoman.training.step import StepResult


def test_what_is_saved_is_read_again_but_for_the_signal_that_stopped_it() -> None:
    progress = Progress(step=7, seconds=1.5, tokens=90, best=-2.0, best_step=5, phase=1, began=4, cuts=2)
    progress.cost.flops = 12.0
    again = Progress.from_json(progress.to_json())
    assert again == progress and again.flops == 12.0
    progress.stopped_by = 15
    assert "stopped_by" not in progress.to_json()


@pytest.mark.parametrize(
    "table",
    [
        {"unknown": 1},
        {"step": "4"},
        {"step": nan},
        {"step": -1},
        {"step": None},
        {"best": "x"},
        {"cost": {"flops": inf}},
    ],
)
def test_what_is_no_progress_is_an_error(table: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        Progress.from_json(table)


def test_the_rate_counts_the_steps_of_its_phase() -> None:
    settings = OptimisationSettings(steps=100, schedule="constant", learning_rate=1.0, warmup=4)
    rates = [Progress(step=step, began=10).next_rate(settings, 0.5) for step in (10, 11, 13, 20)]
    assert rates == [0.25, 0.5, 1.0, 1.0]


def test_a_plateau_lowers_the_rate_for_each_cut() -> None:
    settings = OptimisationSettings(steps=100, schedule="plateau", learning_rate=1.0, warmup=0)
    assert Progress(step=9, cuts=2).next_rate(settings, 0.5) == pytest.approx(0.01)


def test_a_record_is_about_the_steps_since_the_last_one() -> None:
    totals = RunningTotals()
    pairs = batch([5, 3], [4, 6])
    for loss in (6.0, 2.0):
        totals.add(StepResult(total=loss, plain=loss / 2, tokens=4, norm=1.0), [pairs])
    record = totals.record(Progress(step=9, seconds=30.0), epochs=1.23456, share=0.25, learning_rate=0.1)
    assert (record["step"], record["epoch"], record["learning_rate"]) == (9, 1.235, 0.1)
    assert record["loss"] == 1.0 and record["perplexity"] == pytest.approx(2.718281828**0.5)
    assert record["seconds_left"] == 90.0
    empty = sum(int((~side.mask).sum()) for side in (pairs.source, pairs.target))
    cells = sum(side.mask.numel() for side in (pairs.source, pairs.target))
    assert record["padding"] == pytest.approx(empty / cells) and empty > 0
    assert totals.record(Progress(), epochs=0.0, share=0.0005, learning_rate=0.1)["seconds_left"] is None


def test_padding_is_counted_whatever_id_the_vocabulary_gives_it() -> None:
    special = SpecialIds(pad=9, bos=0, eos=1, unk=2, mask=0)
    pairs = collate([([3, 4, 5], [6]), ([0], [0, 0])], special=special)
    totals = RunningTotals()
    totals.add(StepResult(total=1.0, plain=1.0, tokens=5, norm=1.0), [pairs])
    assert (totals.padded, totals.cells) == (3, 16)


def test_the_time_left_is_not_known_before_the_first_step_was_timed() -> None:
    given = {"epochs": 0.1, "share": 0.05, "learning_rate": 0.1}
    assert RunningTotals().record(Progress(step=1), **given)["seconds_left"] is None
    assert RunningTotals().record(Progress(step=2, seconds=2.0), **given)["seconds_left"] == pytest.approx(38)
