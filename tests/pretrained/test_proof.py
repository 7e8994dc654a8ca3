"""An imported model is compared with the original, and not kept if it computes something else."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.pretrained.folders import FAMILIES, Models, write_model
from tests.slow import some

from dragoman.errors import ImportModelError
from dragoman.pretrained import job, proof
from dragoman.pretrained.job import import_model
from dragoman.pretrained.proof import can_prove, prove
from dragoman.runs.folder import open_run


@pytest.mark.parametrize("name", some(FAMILIES, list(FAMILIES)[::2]))
def test_an_import_proves_itself(name: str, imported: Models) -> None:
    _, run, found = imported(name)
    assert found.proof is not None and found.proof.holds and found.proof.tokens is not None
    assert open_run(run).manifest["imported"]["proof"]["reader"] == f"transformers {transformers.__version__}"


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


def test_a_model_that_transformers_cannot_load_is_not_kept(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for path in (folder / "config.json", folder / "generation_config.json"):
        path.write_text(json.dumps({name: value for name, value in config.items() if name != "pad_token_id"}))
    with pytest.raises(ImportModelError, match=r"transformers .* cannot load .*opus-mt-en-vi \(.*; correct its config"):
        import_model(str(folder), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_it_needs_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_prove()
    monkeypatch.setattr(proof, "find_spec", lambda name: None)
    assert not can_prove()


def test_rounding_is_told_from_mistakes_in_float64(imported: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run, _ = imported("marian")
    original, seen = proof.share_of_largest, list[torch.dtype]()

    def rounded(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        seen.append(own.dtype)
        return torch.tensor(1.0) if own.dtype == torch.float32 else original(own, other)

    monkeypatch.setattr(proof, "share_of_largest", rounded)
    assert prove(open_run(run), folder).holds and seen == [torch.float32, torch.float64]


def test_logits_that_are_no_numbers_prove_nothing(imported: Models) -> None:
    numbers = torch.tensor([1.0, -2.0, 0.5])
    never = numbers.index_fill(0, torch.tensor(2), -torch.inf)
    assert proof.share_of_largest(numbers, numbers) == 0 == proof.share_of_largest(numbers, never)
    wrong = numbers.index_fill(0, torch.tensor(0), torch.nan)
    for own, other in ((wrong, numbers), (numbers, wrong), (wrong, wrong)):
        difference = float(proof.share_of_largest(own, other))
        assert not proof.Proof("transformers 5", difference, 8, None).holds


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers_are_refused(value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "can_prove", lambda: False)
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.decoder.layers.0.fc1.weight"][1, 2] = value
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        ImportModelError, match=r"`model\.decoder\.layers\.0\.fc1\.weight` .* damaged; download it again"
    ):
        import_model(str(folder), tmp_path / "run")
    assert not (tmp_path / "run").exists()
