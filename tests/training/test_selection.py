"""Which weights are kept, and when a training learned nothing."""

import math
from pathlib import Path

import pytest
from tests.laws.architectures import ARCHITECTURES

from dragoman.errors import TrainingError
from dragoman.laws.of_training import trainer_of
from dragoman.training.checkpoint import load_tensors
from dragoman.training.progress import Progress
from dragoman.training.reports import MetricsFile
from dragoman.training.selection import check_learned, recover_best
from dragoman.training.session import train_for_a_session
from dragoman.training.settings import PhaseSettings, TrainingSettings
from dragoman.training.trainer import Trainer

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


def trainer(folder: Path, **settings: object) -> Trainer:
    """Return a trainer of a small model."""
    given = {"steps": 8, "batch_tokens": 40, "precision": "float32", "warmup": 0, **settings}
    return trainer_of(ARCHITECTURES["plain gru"], folder / "run", settings=TrainingSettings(**given))


def test_a_plateau_begins_anew_with_each_phase(tmp_path: Path) -> None:
    plateau = {"learning_rate": 1.0, "schedule": "plateau", "optimizer": "sgd", "log_every": 1, "validate_every": 2}
    made, scores = (
        trainer(tmp_path, phases=(PhaseSettings(after=0.5, learning_rate=0.5),), **plateau),
        iter([4, 3, 2, 1]),
    )
    made.validate = lambda model: {"dev_loss": 1.0, "dev_bleu": float(next(scores))}
    made.run()
    made.stream.close()
    rates = [record["learning_rate"] for record in made.metrics.read() if "loss" in record]
    assert rates == pytest.approx([1.0] * 4 + [0.5] * 2 + [0.05] * 2)


def test_of_weights_with_equal_bleu_those_with_the_lower_dev_loss_are_kept(tmp_path: Path) -> None:
    made, scores = trainer(tmp_path, steps=12, validate_every=2), iter([(0, 5), (0, 4), (0, 6), (1, 7), (0, 3), (1, 7)])
    made.validate = lambda model: dict(zip(("dev_bleu", "dev_loss"), map(float, next(scores)), strict=True))
    made.run()
    made.stream.close()
    chosen = [record["best"] for record in made.metrics.read() if "best" in record]
    assert (chosen, made.progress.best_step, made.progress.stale) == ([True, True, False, True, False, False], 8, 2)
    assert load_tensors(made.files.weights)[1]["dev_loss"] == 7.0


def test_nearly_equal_bleu_is_a_tie_too_but_small_steps_down_do_not_add_up(tmp_path: Path) -> None:
    given = [(50.0, 5.0), (49.5, 4.0), (49.1, 3.9), (48.9, 3.0), (49.9, 4.5), (50.1, 9.0), (50.0, 9.0)]
    made, scores = trainer(tmp_path, steps=14, validate_every=2), iter(given)
    made.validate = lambda model: dict(zip(("dev_bleu", "dev_loss"), next(scores), strict=True))
    made.run()
    made.stream.close()
    chosen = [record["best"] for record in made.metrics.read() if "best" in record]
    assert chosen == [True, True, True, False, False, True, False]
    assert (made.progress.best, made.progress.best_step) == (50.1, 12)


def test_a_killed_training_decides_between_equal_bleu_as_one_that_was_not(tmp_path: Path) -> None:
    def scores(made: Trainer) -> None:
        made.validate = lambda model: {"dev_bleu": 0.0, "dev_loss": 9.0 - made.progress.step}

    made = trainer(tmp_path, steps=4, validate_every=2)
    scores(made)
    train_for_a_session(made, seed=1, resuming=False)
    made.files.save_weights(
        made.files.weights, made.model, {"step": 6, "dev_bleu": 0.0, "dev_loss": 3.0}
    )  # killed here
    resumed = trainer(tmp_path, steps=8, validate_every=2)
    scores(resumed)
    assert train_for_a_session(resumed, seed=1, resuming=True).best_step == 8
    chosen = [(record["step"], record["best"]) for record in made.metrics.read() if "best" in record]
    assert chosen == [(2, True), (4, True), (6, True), (8, True)]


def test_where_the_best_weights_are_missing_patience_begins_anew(tmp_path: Path) -> None:
    made, progress = trainer(tmp_path), Progress(step=9, best=3.0, best_step=5, stale=2)
    said = recover_best(made.files, made.model, progress)
    made.stream.close()
    assert said is not None and "model.safetensors is missing" in said and "chosen again" in said
    assert (progress.best, progress.best_step, progress.stale) == (None, 0, 0)
