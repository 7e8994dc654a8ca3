"""Adapters merged with their base."""

import shutil
from pathlib import Path

import pytest
import torch
from tests.end_to_end.test_adapters import adapting, weights
from tests.tiny import Trained, recipe, refusal

from dragoman.errors import InputError, RunError
from dragoman.jobs.merge import merge_run
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run


def test_a_merged_run_has_the_same_weights_and_needs_no_base(trained: Trained, tmp_path: Path) -> None:
    shutil.copytree(trained("transformer"), tmp_path / "base")
    about = {"adapted": {"runs": [str(tmp_path / "base")]}}
    fit(recipe("transformer", *adapting(tmp_path / "base")), tmp_path / "adapted", about=about)
    expected = weights(tmp_path / "adapted")
    assert merge_run(tmp_path / "adapted") == tmp_path / "adapted-merged"
    shutil.rmtree(tmp_path / "base")
    with pytest.raises(RunError, match=r"holds adapters of the run"):
        weights(tmp_path / "adapted")
    assert "which is not there; put that run there" in refusal("merge", tmp_path / "adapted", "--out", tmp_path / "no")
    assert not (tmp_path / "no").exists()
    found = weights(tmp_path / "adapted-merged")
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)
    assert open_run(tmp_path / "adapted-merged").manifest["adapted"] == about["adapted"]
    with pytest.raises(RunError, match=r"already holds a run"):
        merge_run(tmp_path / "adapted")
    assert "no training to resume" in refusal("train", "--resume", tmp_path / "adapted-merged")


def test_a_run_without_adapters_is_refused(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no adapters"):
        merge_run(trained("rnn"), tmp_path / "out")
