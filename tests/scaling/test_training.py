"""Training on Ray: the weights are those of torchrun, also where a worker was killed, and mistakes end it at once."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.processes import run_together
from tests.end_to_end.test_resume import steps, weights
from tests.scaling.cluster import ended, kill, needs_ray, start, wait_for
from tests.tiny import recipe, recipe_file

from dragoman.errors import CorpusError, DragomanError, LostProcessError, SettingsError, TrainingError
from dragoman.runs.lock import LOCK
from dragoman.runs.recipe import load_recipe
from dragoman.scaling import training
from dragoman.scaling.cluster import Workers, error_named
from dragoman.scaling.training import _Work, fit_on_ray
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent

SETTINGS = ("training.steps=60", "training.validate_every=30", "training.save_minutes=0.000001", "training.ema=0.9")


DEATHS = 20
DYING_AT_RANDOM = f"""
from dragoman.cli import train
from dragoman.cli.console import ConsoleListener
from dragoman.cli.main import main

def dying():
    import os, random, signal, threading
    from pathlib import Path
    from dragoman.training import trainer

    deaths, step = Path("deaths"), trainer.Trainer._step
    number = len(list(deaths.iterdir()))
    rng = random.Random(number)
    victim, after = str(rng.randrange(2)), rng.uniform(0, 0.6)

    def die():
        (deaths / str(number)).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    def last_step(self, totals):
        trainer.Trainer._step = step
        if os.environ["RANK"] == victim and number < {DEATHS}:
            threading.Timer(after, die).start()
        step(self, totals)

    trainer.Trainer._step = last_step
    return ConsoleListener()

train.ConsoleListener = dying
main()
"""
"""A program that is `dragoman`, in which one of two workers of Ray dies in the first 0.6 seconds of training, again and again."""


def work(folder: Path, *settings: str) -> _Work:
    """Return what a process is told."""
    return _Work(recipe("rnn", "training.steps=2", *settings), folder, Path.cwd(), "mine", False, Silent)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what a process was told."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")


@pytest.mark.usefixtures("environment")
def test_a_process_trains_into_the_folder_and_returns_its_progress(tmp_path: Path) -> None:
    found = training._take_part({"work": work(tmp_path / "run")})
    assert Progress.from_json(found["progress"]).step == 2
    assert (tmp_path / "run" / "model.safetensors").exists()
    again = training._take_part({"work": work(tmp_path / "run")})  # Ray has started it again
    assert Progress.from_json(again["progress"]).finished


@pytest.mark.usefixtures("environment")
def test_a_mistake_of_the_user_is_returned_rather_than_repeated(tmp_path: Path) -> None:
    found = training._take_part({"work": work(tmp_path / "run", "data.train=[{source: none.en, target: none.vi}]")})
    assert found["error"] == "CorpusError" and "none.en" in found["sentence"]


@pytest.mark.usefixtures("environment")
def test_the_loss_of_a_process_is_left_to_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*arguments: Any, **options: Any) -> None:
        raise LostProcessError("gone")

    monkeypatch.setattr(training, "fit", lost)
    with pytest.raises(LostProcessError, match=r"gone"):
        training._take_part({"work": work(tmp_path / "run")})


def test_what_is_auto_is_left_to_the_first_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    told: list[_Work] = []

    def launch(work: _Work, *rest: Any, **options: Any) -> dict[str, Any]:
        told.append(pickle.loads(pickle.dumps(work)))  # as Ray does
        return {"progress": Progress().to_json()}

    monkeypatch.setattr(training, "cluster", lambda *_, **__: nullcontext())
    monkeypatch.setattr(training, "_launch", launch)
    given = load_recipe("own-files", ["data.source=en", "data.target=fr", f"data.root={tmp_path}"])
    fit_on_ray(given, tmp_path / "run", Workers(1, 1))
    assert told[0].recipe.auto == given.auto and "model.kind" in given.auto
    assert told[0].recipe.model.model_fields_set == given.model.model_fields_set


def test_an_error_keeps_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(training, "cluster", lambda *_, **__: nullcontext())
    for kind in (CorpusError, SettingsError, TrainingError):
        told = {"error": kind.__name__, "sentence": "a sentence"}
        monkeypatch.setattr(training, "_launch", lambda *_, told=told, **__: told)
        with pytest.raises(kind, match=r"a sentence") as caught:
            fit_on_ray(recipe("rnn"), tmp_path / "run", Workers(1, 1))
        assert type(caught.value) is kind
    assert error_named("Unknown") is DragomanError


@needs_ray
@pytest.mark.slow
def test_a_worker_of_ray_that_is_killed_is_replaced_and_the_weights_are_those_of_torchrun(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    found = run_together(2, "tests.end_to_end.processes", str(whole), "new", "transformer", *SETTINGS)
    assert [one.returncode for one in found] == [0, 0], found
    path, folder = recipe_file(tmp_path, "transformer", *SETTINGS), tmp_path / "killed"
    job = start("train", path, "--out", folder, "--ray", "2", folder=tmp_path)
    wait_for(folder / "training" / "last.safetensors", job)
    from dragoman.json_files import load_json

    first = load_json(folder / LOCK)["pids"][0]
    kill(first)
    assert ended(job, tmp_path) == f"{folder}\n"
    assert not os.path.exists(f"/proc/{first}")
    assert (weights(folder), steps(folder)) == (weights(whole), steps(whole))
    assert "Resuming at step" in (tmp_path / "errors.txt").read_text()


@needs_ray
@pytest.mark.slow
def test_workers_of_ray_that_are_killed_at_random_moments_end_with_the_weights_of_the_unbroken_run(
    tmp_path: Path,
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    settings = (*SETTINGS, "training.steps=400", "text.sampling=0.1")
    found = run_together(2, "tests.end_to_end.processes", str(whole), "new", "transformer", *settings)
    assert [one.returncode for one in found] == [0, 0], found
    (tmp_path / "killer.py").write_text(DYING_AT_RANDOM)
    (tmp_path / "deaths").mkdir()
    path = recipe_file(tmp_path, "transformer", *settings)
    job = start("train", path, "--out", killed, "--ray", "2", folder=tmp_path, program=("killer.py",))
    assert ended(job, tmp_path) == f"{killed}\n"
    assert len(list((tmp_path / "deaths").iterdir())) == DEATHS
    assert (weights(killed), steps(killed)) == (weights(whole), steps(whole))


@needs_ray
@pytest.mark.slow
def test_as_many_workers_train_as_there_is_room_for(tmp_path: Path) -> None:
    path, folder = recipe_file(tmp_path, "transformer"), tmp_path / "run"
    job = start("train", path, "--out", folder, "--ray", "1:8", folder=tmp_path)
    assert ended(job, tmp_path) == f"{folder}\n"
    assert steps(folder)[-1] == 20


@needs_ray
@pytest.mark.slow
def test_ray_ends_with_the_sentence_of_the_first_worker(tmp_path: Path) -> None:
    path = recipe_file(tmp_path, "transformer", "data.train=[{source: none.en, target: none.vi}]")
    job = start("train", path, "--out", tmp_path / "run", "--ray", "2", folder=tmp_path)
    job.communicate(timeout=3600)
    assert job.returncode == 2
    assert "none.en" in (tmp_path / "errors.txt").read_text().splitlines()[-1]
    assert not (tmp_path / "run").exists()
