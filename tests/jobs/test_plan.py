"""What a training will take, against the training itself."""

import math
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.jobs.test_train import Ear
from tests.slow import some
from tests.tiny import recipe

from dragoman.errors import SettingsError
from dragoman.jobs import plan as module
from dragoman.jobs.plan import Epoch, Plan, Probe, make_plan, parameters_of, work_within
from dragoman.jobs.train import fit
from dragoman.runs.recipe import load_recipe
from dragoman.training.reports import Silent
from dragoman.training.settings import TrainingSettings

EPOCH = Epoch(1000, 20_000, 50)
PROBE = Probe(
    steps=10,
    threads=1,
    replicas=1,
    precision="float32",
    steps_per_epoch=50.0,
    seconds_per_step=0.5,
    tokens_per_second=800.0,
    flops_per_epoch=1e9,
    validation_seconds=10.0,
    peak_memory=None,
    activations=None,
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let a probe end early, and put temporary folders where they can be seen."""
    monkeypatch.setattr(module, "SECONDS", 0.5)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def training(**settings: Any) -> TrainingSettings:
    """Return settings with a validation every 100 steps."""
    return TrainingSettings(**{"validate_every": 100, **settings})


@pytest.mark.parametrize(
    ("budget", "steps", "limited_by"),
    [
        ({"steps": 120}, 120, "steps"),
        ({"epochs": 3}, 150, "epochs"),
        ({"epochs": 0.5}, 25, "epochs"),
        ({"tokens": 4000}, 10, "tokens"),
        ({"flops": 4e9}, 200, "flops"),
        ({"minutes": 1}, 100, "minutes"),
        ({"minutes": 1, "steps": 30}, 30, "steps"),
    ],
)
def test_the_smallest_budget_says_how_far_training_goes(budget: Mapping[str, Any], steps: int, limited_by: str) -> None:
    work = work_within(training(**budget), EPOCH, PROBE)
    assert work is not None
    assert (work.steps, work.limited_by, work.epochs) == (steps, limited_by, steps / 50)
    assert work.validations == math.ceil(steps / 100)
    assert work.seconds == steps * 0.5 + work.validations * 10


def test_without_a_probe_time_is_unknown() -> None:
    work = work_within(training(epochs=2), EPOCH, None)
    assert work is not None and (work.steps, work.seconds) == (100, None)
    work = work_within(training(epochs=3, tokens_per_step=1000), EPOCH, None)  # of three batches
    assert work is not None and (work.steps, work.epochs) == (50, pytest.approx(3))
    assert work_within(training(minutes=2), EPOCH, None) is None
    assert work_within(training(flops=2e9), EPOCH, None) is None


@pytest.mark.parametrize("model", some(["rnn", "transformer", "masked_lm", "decoder_only"], ["rnn", "masked_lm"]))
def test_a_plan_is_that_of_the_training(model: str, tmp_path: Path, short: Path) -> None:
    given = recipe(model, "training.epochs=2", "training.steps=null")
    made = make_plan(given)
    assert not list(short.glob("dragoman*")) and not list(tmp_path.glob("runs"))
    progress = fit(given, tmp_path / "run")
    assert made.probe is not None and made.work is not None
    assert made.work.steps == progress.step and made.work.epochs == 2
    assert made.epoch.pairs == 300
    assert 2 * made.epoch.tokens == pytest.approx(progress.tokens, rel=0.1 if model == "masked_lm" else 0)
    assert 2 * made.probe.flops_per_epoch == pytest.approx(progress.flops, rel=0.2)
    assert made.probe.tokens_per_second > 0 and made.probe.validation_seconds > 0
    assert made.probe.peak_memory is not None and made.probe.peak_memory > 1e6
    assert made.estimated_memory == made.probe.peak_memory
    assert made.probe.activations is not None and made.probe.activations > 1000
    assert_disk_is_that_of(made, tmp_path)


def assert_disk_is_that_of(made: Plan, folder: Path) -> None:
    """Compare the disk of a plan with a run."""
    run = folder / "run"
    assert made.disk.weights == pytest.approx((run / "model.safetensors").stat().st_size, rel=0.4)
    assert made.disk.resume == pytest.approx((run / "training" / "last.safetensors").stat().st_size, rel=0.4)
    kept = sum(path.stat().st_size for path in (run / "checkpoints").iterdir())
    assert made.disk.kept == pytest.approx(kept, rel=0.4)
    store = sum(path.stat().st_size for path in (folder / ".cache").rglob("*") if path.is_file())
    assert made.disk.store == pytest.approx(store, rel=0.02)
    assert 0 < made.disk.other < 1e6
    assert made.disk.total == sum(
        (made.disk.weights, made.disk.kept, made.disk.resume, made.disk.other, made.disk.store)
    )


def test_a_plan_says_what_auto_has_chosen_and_why() -> None:
    given = recipe("transformer", "training.warmup=auto", "training.batch_tokens=auto")
    made = make_plan(given, probe=False)
    assert {choice.path for choice in made.chosen} == {"training.warmup", "training.batch_tokens"}
    assert all(choice.reason for choice in made.chosen)
    assert made.recipe.auto == () and made.recipe.training.batch_tokens == 1500
    assert made.probe is None and made.work is not None and made.work.steps == 20
    assert made.estimated_memory == made.memory.total + (made.process or 0)


def test_accumulated_batches_are_one_step() -> None:
    made = make_plan(recipe("transformer", "training.epochs=1", "training.steps=null", "training.tokens_per_step=1000"))
    assert made.work is not None and made.probe is not None
    assert made.work.steps < made.epoch.batches and made.probe.steps_per_epoch < made.epoch.batches


def test_parameters_are_told_by_part() -> None:
    made = make_plan(recipe("transformer", "text.joint=true"), probe=False)
    assert {"encoder.embedding", "encoder.layers", "decoder.layers"} <= set(made.parameters)
    assert made.trained_parameters == sum(made.parameters.values())
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    assert parameters_of(model, torch.nn.Linear(1, 1)) == {"0.weight": 6, "0.bias": 3, "adapters": 2}


def test_warnings_about_data_name_no_folder_that_is_gone(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("&quot;I love cats.&quot;\tJ'aime les chats.\n" * 3, encoding="utf-8")
    corpora = [f"data.{part}=[{{tsv: {tmp_path / part}.tsv}}]" for part in ("train", "dev")]
    heard = Ear()
    make_plan(recipe("rnn", "data.target=fr", "data.test=[]", "text.size=40", *corpora), probe=False, listener=heard)
    assert "Look closer with `dragoman check RECIPE --report page.html` and the same --set." in heard.said
    assert not any("dragoman-plan" in sentence for sentence in heard.said)


def test_what_training_refuses_is_refused(short: Path) -> None:
    with pytest.raises(SettingsError, match=r"GiB of memory are free"):
        make_plan(recipe("rnn", "model.hidden=100000000"))
    with pytest.raises(SettingsError, match=r"momentum"):
        make_plan(recipe("rnn", "training.momentum=0.3"))
    one_matrix = ["model.kind=transformer", "model.tied=all", "text.joint=false"]
    with pytest.raises(SettingsError, match=r"`model\.tied: all` needs one vocabulary"):
        make_plan(load_recipe("own-files", [*one_matrix, "data.root=/nowhere"]))
    assert not list(short.glob("dragoman*"))


def test_ctrl_c_ends_a_probe_and_leaves_nothing(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 60.0)
    monkeypatch.setattr(module.Stopwatch, "progress", lambda *_: signal.raise_signal(signal.SIGINT), raising=True)
    with pytest.raises(KeyboardInterrupt):
        make_plan(recipe("rnn", "training.steps=100000"), listener=Silent())
    assert not list(short.glob("dragoman*"))


def test_few_steps_are_all_timed() -> None:
    made = make_plan(recipe("rnn", "training.steps=2"))
    assert made.probe is not None and made.probe.steps == 2 and made.probe.seconds_per_step > 0
