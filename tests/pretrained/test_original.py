"""An imported run is handed back as it was."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.pretrained.folders import FAMILIES, Models, write_model

from dragoman.pretrained.huggingface import export
from dragoman.pretrained.job import import_model
from dragoman.pretrained.proof import ROUNDING


@pytest.mark.parametrize("name", FAMILIES)
def test_an_export_gives_the_same_files_back(name: str, imported: Models, tmp_path: Path) -> None:
    folder, run, _ = imported(name)
    out, proved = export(run, tmp_path / "out")
    before, after = (load_file(one / "model.safetensors") for one in (folder, out))
    assert set(before) == set(after)
    for tensor_name, tensor in before.items():
        assert tensor.dtype == after[tensor_name].dtype and torch.equal(tensor, after[tensor_name]), tensor_name
    for path in folder.iterdir():
        assert path.suffix == ".safetensors" or path.read_bytes() == (out / path.name).read_bytes()
    assert proved is not None and proved.difference < ROUNDING


def test_half_precision_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "marian")
    halves = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}))
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"))
    out, _ = export(tmp_path / "run", tmp_path / "out")
    after = load_file(out / "model.safetensors")
    assert all(
        after[name].dtype == torch.float16 and torch.equal(tensor, after[name]) for name, tensor in halves.items()
    )
