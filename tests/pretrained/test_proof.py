"""An imported model is compared with the original, and not kept if it computes something else."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.pretrained.folders import FAMILIES, Models, write_model

from dragoman.errors import ImportModelError
from dragoman.pretrained import job
from dragoman.pretrained.job import import_model
from dragoman.pretrained.proof import ROUNDING
from dragoman.runs.folder import open_run


@pytest.mark.parametrize("name", FAMILIES)
def test_an_import_proves_itself(name: str, imported: Models) -> None:
    _, run, found = imported(name)
    assert found.proof is not None and found.proof.logits < ROUNDING and found.proof.greedy > 0.99
    assert open_run(run).manifest["imported"]["proof"]["version"] == transformers.__version__


def test_without_transformers_it_says_that_nothing_was_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "can_prove", lambda: False)
    said: list[str] = []
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    assert import_model(str(folder), tmp_path / "run", say=said.append).proof is None
    assert any("transformers is not installed" in sentence for sentence in said)


def test_a_model_that_computes_something_else_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    convert = job.to_state

    def changed(*given: Any) -> dict[str, torch.Tensor]:
        state = convert(*given)
        return state | {"encoder.layers.0.attention.query.weight": -state["encoder.layers.0.attention.query.weight"]}

    monkeypatch.setattr(job, "to_state", changed)
    with pytest.raises(ImportModelError, match=r"logits differ by"):
        import_model(str(folder), tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["opus-mt-en-vi"]
