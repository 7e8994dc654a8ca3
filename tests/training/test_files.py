"""The files that training writes into a run folder."""

from pathlib import Path

import pytest
import torch
from torch import nn

from dragoman.errors import DamagedError, RunError
from dragoman.training.files import RunFiles


def test_only_the_last_weights_are_kept_for_averaging(tmp_path: Path) -> None:
    files, model = RunFiles(tmp_path), nn.Linear(2, 2)
    for step in (5, 10, 200):
        files.keep(model, step, 2)
    assert files.kept() == [files.kept_at(10), files.kept_at(200)]
    assert files.load(files.kept_at(200))[1]["step"] == 200


def test_nothing_is_kept_where_nothing_is_to_be_averaged(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.keep(nn.Linear(2, 2), 5, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_another_run_wrote_is_refused(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    one, other = RunFiles(tmp_path, "one"), RunFiles(tmp_path, "other")
    one.save_weights(one.weights, model, {})
    tensors, _ = one.load(one.weights)
    assert torch.equal(tensors["weight"], model.weight)
    with pytest.raises(RunError, match="belongs to another run"):
        other.load(other.weights)
    RunFiles(tmp_path).load(one.weights)  # a run from before runs had an identity


def test_a_checkpoint_that_was_saved_and_is_gone_is_not_taken_for_one_that_never_was(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    assert not files.resumable()
    files.save(files.last, {"weight": torch.zeros(1)}, {})
    assert files.resumable()
    files.last.unlink()
    with pytest.raises(DamagedError, match=r"last.safetensors is missing.*restore.*`model.start_from.whole`"):
        files.resumable()


def test_the_hint_says_whether_there_is_something_to_go_back_to(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    assert "no checkpoint was saved yet" in files.recovery_hint()
    files.save(files.last, {"weight": torch.zeros(1)}, {})
    assert f"the last checkpoint in {tmp_path} is kept" in files.recovery_hint()
    assert "--resume" in files.recovery_hint()
