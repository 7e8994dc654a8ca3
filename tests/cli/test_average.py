"""`dragoman average`."""

import shutil
from pathlib import Path

import pytest
import torch
from tests.tiny import Trained, dragoman, refusal

from dragoman.training.checkpoint import load_tensors


def test_an_average_is_a_run_of_its_own(trained: Trained, tmp_path: Path):
    run, folder = trained("rnn"), tmp_path / "average"
    found = dragoman("average", run, "--last", 2, "--out", folder)
    assert found.lines == [str(folder)]
    assert found.errors == "Averaged step-00000010, step-00000020.\n"
    made, _ = load_tensors(folder / "model.safetensors")
    first, last = (load_tensors(run / "checkpoints" / f"step-000000{step}.safetensors")[0] for step in (10, 20))
    for name, tensor in made.items():
        torch.testing.assert_close(tensor, (first[name] + last[name]) / 2)
    assert len(dragoman("translate", folder, stdin="I love cats.\n").lines) == 1


def test_an_average_stands_beside_its_run(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(trained("rnn"), tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    found = dragoman("average", ".")
    assert found.lines == [str(tmp_path / "mine-average")]
    assert "no more than these 2" in found.errors and "`training.keep`" in found.errors  # 5 are the default
    assert refusal("average", tmp_path / "mine") == (
        f"{tmp_path / 'mine-average'} already holds a run; choose another folder with --out"
    )


def test_one_checkpoint_has_no_average(trained: Trained, tmp_path: Path):
    shutil.copytree(trained("rnn"), tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "step-00000010.safetensors").unlink()
    sentence = refusal("average", tmp_path / "run")
    assert f"{tmp_path / 'run'} has 1" in sentence and "training.keep" in sentence


def test_a_damaged_checkpoint_leaves_no_average_behind(trained: Trained, tmp_path: Path):
    shutil.copytree(trained("rnn"), tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "step-00000020.safetensors").write_bytes(b"half")
    assert "is damaged" in refusal("average", tmp_path / "run")
    assert not (tmp_path / "run-average").exists()
