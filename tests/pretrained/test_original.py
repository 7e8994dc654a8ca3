"""An imported run is handed back as it was."""

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.pretrained.folders import FAMILIES, Models, write_model

from dragoman.errors import ExportError
from dragoman.inference.translator import Translator
from dragoman.jobs.average import average_run
from dragoman.jobs.merge import merge_run
from dragoman.jobs.train import fit
from dragoman.pretrained.huggingface import export
from dragoman.pretrained.job import import_model
from dragoman.pretrained.original import CHANGED, say_changed
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import load_recipe


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
    assert proved is not None and proved.holds and proved.greedy is None
    assert len({path.stat().st_mode for path in out.iterdir()}) == 1


@pytest.mark.parametrize("said", [{"dtype": "float16"}, {}], ids=["said", "not said"])
def test_half_precision_comes_back_as_it_was(said: dict[str, str], tmp_path: Path) -> None:
    """Those of opus-mt do not say it."""
    folder = write_model(tmp_path / "model", "marian")
    halves = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config.pop("dtype")
    (folder / "config.json").write_text(json.dumps(config | said))
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"))
    out, _ = export(tmp_path / "run", tmp_path / "out")
    after = load_file(out / "model.safetensors")
    assert all(
        after[name].dtype == torch.float16 and torch.equal(tensor, after[name]) for name, tensor in halves.items()
    )


def test_shards_come_back_as_one_file_and_all_else_as_it_was(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    assert (folder / "model.safetensors.index.json").exists()
    (folder / "LICENSE").write_text("Do what you like.")
    (folder / "custom.py").write_text("")
    import_model(str(folder), tmp_path / "run")
    out, _ = export(tmp_path / "run", tmp_path / "out")
    expected = {path.name for path in folder.iterdir() if not path.name.startswith("model") and path.suffix != ".py"}
    assert {path.name for path in out.iterdir()} == expected | {"model.safetensors", "checksums.json"}
    after = transformers.AutoModelForSeq2SeqLM.from_pretrained(out).state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in model.state_dict().items())


FEW = ("training.steps=4", "training.validate_every=2", "training.keep=2", "training.threads=1", "training.device=cpu")


def test_the_card_of_a_model_that_was_trained_further_says_so(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "marian")
    (folder / "README.md").write_text("# opus-mt\n\nBLEU 40\n")
    import_model(str(folder), tmp_path / "base", languages=("en", "vi"))
    data = [f'data.{part}=[{{"phrasebook": "{part}", "pairs": 40}}]' for part in ("train", "dev")]
    further = (f"model.start_from.whole={tmp_path / 'base'}", "model.adapters.rank=2", *FEW, *data)
    fit(load_recipe(tmp_path / "base" / "recipe.yaml", further), tmp_path / "run")
    for run in (tmp_path / "run", merge_run(tmp_path / "run")):
        out, _ = export(run, tmp_path / f"{run.name}-out")
        assert (out / "README.md").read_text() == f"# opus-mt\n\nBLEU 40\n\n{CHANGED}"
    card = tmp_path / "none"
    for _ in range(2):  # of a model without a card, changed twice
        say_changed(card)
        assert card.read_text() == CHANGED
    once, _ = export(tmp_path / "base", tmp_path / "unchanged")
    assert (once / "README.md").read_bytes() == (folder / "README.md").read_bytes()


@pytest.mark.slow
def test_adapters_and_averages_of_an_import_are_handed_back_whole(imported: Models, tmp_path: Path) -> None:
    _, base, _ = imported("marian")
    data = [f'data.{part}=[{{"phrasebook": "{part}", "pairs": 40}}]' for part in ("train", "dev")]
    adapting = (f"model.start_from.whole={base}", "model.adapters.rank=2", *FEW, "training.learning_rate=0.01", *data)
    fit(load_recipe(base / "recipe.yaml", adapting), tmp_path / "adapted")
    average_run(tmp_path / "adapted", 2, tmp_path / "average")
    for name in ("adapted", "average"):
        out, proof = export(tmp_path / name, tmp_path / f"{name}-out")
        assert proof is not None and proof.holds
        import_model(str(out), tmp_path / f"{name}-again", languages=("en", "vi"))
        one, other = (
            Translator.load(tmp_path / run, beam=1, maximum_length=9).translate(["I love cats."])[0]
            for run in (name, f"{name}-again")
        )
        assert one.ids == other.ids


def test_what_the_run_has_lost_of_the_original_is_named(imported: Models, tmp_path: Path) -> None:
    _, base, _ = imported("marian")
    run = Path(shutil.copytree(base, tmp_path / "run"))
    spm = run / "imported" / "source.spm"
    spm.write_bytes(spm.read_bytes()[:-1])
    with pytest.raises(ExportError, match=r"imported/source\.spm is missing or has changed .*; restore it"):
        export(run, tmp_path / "out")
    shutil.rmtree(run / "imported")
    with pytest.raises(ExportError, match=r"imported/config\.json is missing or has changed"):
        export(run, tmp_path / "out")
    data = [f'data.{part}=[{{"phrasebook": "{part}", "pairs": 40}}]' for part in ("train", "dev")]
    fit(load_recipe(run / "recipe.yaml", (f"model.start_from.whole={run}", *FEW, *data)), tmp_path / "more")
    assert not (tmp_path / "more" / "imported").exists() and open_run(tmp_path / "more")
    assert not (tmp_path / "out").exists()
