"""A new run whose weights are the mean of those that another run kept."""

from dataclasses import replace
from pathlib import Path
from shutil import copy, copytree

import pytest
import torch
from tests.tiny import Trained, room_for

from dragoman.data.ledger import record
from dragoman.errors import InputError, RunError, TrainingError
from dragoman.jobs.average import average_run
from dragoman.runs.folder import open_run
from dragoman.training.checkpoint import load_tensors


def test_weights_are_the_mean_of_the_last_checkpoints(trained: Trained, tmp_path: Path) -> None:
    run = trained("rnn")
    made = open_run(average_run(run, 2, tmp_path / "mean"))
    first, second = (load_tensors(path)[0] for path in sorted((run / "checkpoints").iterdir())[-2:])
    kept, _ = load_tensors(made.weights)
    for name, tensor in kept.items():
        torch.testing.assert_close(tensor, (first[name] + second[name]) / 2)
    assert made.manifest["averaged"] == ["step-00000010", "step-00000020"]


def test_what_a_run_was_adapted_from_is_known_of_its_average(trained: Trained, tmp_path: Path) -> None:
    adapted = open_run(copytree(trained("rnn"), tmp_path / "run"))
    replace(adapted, manifest={**adapted.manifest, "adapted": {"runs": ["base"]}}).save()
    assert open_run(average_run(adapted.folder, 2, tmp_path / "mean")).manifest["adapted"] == {"runs": ["base"]}


def test_the_last_checkpoints_are_those_of_the_latest_steps(trained: Trained, tmp_path: Path) -> None:
    run = Path(copytree(trained("rnn"), tmp_path / "run"))
    earlier = Path(
        copy(run / "checkpoints" / "step-00000010.safetensors", run / "checkpoints" / "step-00000005.safetensors")
    )
    record(run, [earlier])
    made = open_run(average_run(run, 2, tmp_path / "mean"))
    assert made.manifest["averaged"] == ["step-00000010", "step-00000020"]


def test_one_checkpoint_is_refused_with_the_setting_that_keeps_more(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"at least two.*training\.keep"):
        average_run(trained("rnn"), 1, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_folder_that_holds_anything_is_left_as_it_is(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises((InputError, RunError), match="--out"):
        average_run(trained("rnn"), 2, tmp_path)
    assert (tmp_path / "letter.txt").read_text(encoding="utf-8") == "dear"


def test_a_full_disk_leaves_nothing_and_the_folder_that_was_asked_for_is_named(
    trained: Trained, tmp_path: Path
) -> None:
    run, out = trained("rnn"), tmp_path / "mean"
    with (
        pytest.raises(TrainingError, match=rf"^{out}/model\.safetensors could not be saved: .*make room"),
        room_for(20_000),
    ):
        average_run(run, 2, out)
    assert list(tmp_path.iterdir()) == []


def test_an_average_is_not_averaged(trained: Trained, tmp_path: Path) -> None:
    made = average_run(trained("rnn"), 2, tmp_path / "mean")
    with pytest.raises(InputError, match=r"mean is an average itself"):
        average_run(made, 2)
