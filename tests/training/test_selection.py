"""Which weights are kept, and when a training learned nothing."""

import math
from pathlib import Path

import pytest

from dragoman.errors import TrainingError
from dragoman.training.reports import MetricsFile
from dragoman.training.selection import check_learned

GUESS = math.log(300)


def check(folder: Path, *losses: float, best: int) -> list[str]:
    """Check a training whose validations had these losses; return what was said."""
    metrics, said = MetricsFile(folder / "metrics.jsonl"), list[str]()
    for number, loss in enumerate(losses):
        metrics.append({"step": number, "dev_loss": loss, "best": number <= best})
    check_learned(metrics, GUESS, say=said.append)
    return said


def test_a_training_that_diverged_is_not_done(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError, match=r"diverged: .* 2\.7e\+11, where guessing would give 5\.7; lower training\.learning"
    ):
        check(tmp_path, 2.7e11, 3e11, best=0)


def test_a_training_that_diverged_after_its_best_weights_says_so(tmp_path: Path) -> None:
    (said,) = check(tmp_path, 4.0, 2.7e5, best=0)
    assert "best weights are those of an earlier step" in said and "training.learning_rate" in said


@pytest.mark.parametrize("losses", [(), (7.0,), (12.0, 3.0), (1.5, 1.7)])
def test_an_early_stage_of_training_is_not_divergence(tmp_path: Path, losses: tuple[float, ...]) -> None:
    assert check(tmp_path, *losses, best=len(losses)) == []
