"""A run becomes an export that translates as it does, or nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tiny import Trained, refusal

from dragoman.conversion import job, proof, specification
from dragoman.conversion.job import export
from dragoman.errors import InputError, RunError
from dragoman.inference.ctranslate2.folder import fresh_exports, open_export
from dragoman.runs.folder import open_run

Patch = Callable[[pytest.MonkeyPatch], None]


def test_an_export_agrees_with_its_run_on_every_sentence(trained: Trained, tmp_path: Path):
    run = trained("transformer")
    folder, agreement = export(run, tmp_path / "out", quantization="float32")
    assert folder == tmp_path / "out"
    assert (agreement.sentences, agreement.equal_greedy, agreement.equal_beam) == (20, 1.0, 1.0)
    assert agreement.largest_difference < 1e-4


def test_a_run_that_reads_annotated_sources_is_exported_without_them(trained: Trained, tmp_path: Path):
    run = trained("transformer", "text.glossary.share=0.5")
    _, agreement = export(run, tmp_path / "out", quantization="float32")
    assert (agreement.sentences, agreement.equal_beam) == (20, 1.0)


def test_int8_is_smaller_and_says_how_far_it_agrees(trained: Trained, tmp_path: Path):
    run = trained("transformer")
    whole, _ = export(run, tmp_path / "whole", quantization="float32")
    folder, agreement = export(run, tmp_path / "small")
    assert (folder / "model.bin").stat().st_size < (whole / "model.bin").stat().st_size
    assert 0 < agreement.mean_difference < proof.INT8_MEAN
    manifest = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    assert manifest["agreement"] == agreement.table()
    assert manifest["quantization"] == "int8"


def test_exporting_leaves_the_weights_of_the_model_alone(trained: Trained):
    run = open_run(trained("transformer"))
    model = run.load_model(torch.device("cpu"))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    pieces = list(run.source.tokenizer.vocabulary)
    specification.describe(model, run.recipe.model, pieces, target=pieces).optimize("int8")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values change places."""
    original = specification._fill_linear

    def fill(spec: Any, weight: torch.Tensor, bias: torch.Tensor) -> None:
        if weight.shape[0] == 3 * weight.shape[1]:
            weight = torch.cat([weight[: weight.shape[1]], *reversed(weight[weight.shape[1] :].chunk(2))])
        original(spec, weight, bias)

    monkeypatch.setattr(specification, "_fill_linear", fill)


def unscaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings are not multiplied by the root of the width."""
    original = specification._stacks

    def stacks(*arguments: Any) -> Any:
        made = original(*arguments)
        for one in made:
            one.scale_embeddings = False
        return made

    monkeypatch.setattr(specification, "_stacks", stacks)


def swish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another activation."""
    original = specification._stacks

    def stacks(*arguments: Any) -> Any:
        made = original(*arguments)
        for one in made:
            one.activation = np.dtype("int8").type(2)
        return made

    monkeypatch.setattr(specification, "_stacks", stacks)


def shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions begin at 1."""
    original = specification._positions
    monkeypatch.setattr(specification, "_positions", lambda layer, width: original(layer, width)[1:].copy())


@pytest.mark.parametrize("quantization", ["float32", "int8"])
@pytest.mark.parametrize("bug", [swapped, unscaled, swish, shifted])
def test_an_export_that_translates_otherwise_is_refused_and_nothing_is_left(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: Patch, quantization: job.Quantization
):
    bug(monkeypatch)
    with pytest.raises(InputError, match="does not translate like"):
        export(trained("transformer"), tmp_path / "out", quantization=quantization)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_tie_in_one_beam_is_no_defect(trained: Trained, tmp_path: Path):
    """With this seed the fifth continuation of a step is a tie within rounding, and the two engines keep another one."""
    _, agreement = export(trained("transformer", "seed=3"), tmp_path / "out", quantization="float32")
    assert agreement.equal_greedy == 1 and agreement.equal_beam >= 0.95 and agreement.largest_difference < 1e-4


def test_int8_that_loses_too_much_is_refused(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proof, "INT8_MEAN", 1e-6)
    with pytest.raises(InputError, match="in int8 the log-probability of a token changes by"):
        export(trained("transformer"), tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_what_stands_in_the_way_is_not_touched(trained: Trained, tmp_path: Path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(InputError, match="is not an export; choose another folder"):
        export(trained("transformer"), tmp_path / "letters")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["one.txt"]


def test_an_export_is_fresh_until_the_weights_change(trained: Trained):
    run = trained("transformer", "seed=3")
    folder, _ = export(run)
    assert fresh_exports(run) == {"int8": folder}
    (run / "model.safetensors").write_bytes((trained("transformer") / "model.safetensors").read_bytes())
    assert fresh_exports(run) == {}


def test_a_changed_file_is_refused(trained: Trained, tmp_path: Path):
    folder, _ = export(trained("transformer"), tmp_path / "out")
    damaged = bytearray((folder / "model.bin").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "model.bin").write_bytes(damaged)
    with pytest.raises(RunError, match=r"model\.bin is damaged"):
        open_export(folder)
    assert "model.bin is damaged" in refusal("translate", folder, stdin="No.\n")


def test_commands_that_need_a_run_say_so_of_an_export(trained: Trained, tmp_path: Path):
    folder, _ = export(trained("transformer"), tmp_path / "out")
    assert "is an export, which can only translate" in refusal("attend", folder, "No.", "-o", tmp_path / "a.svg")
