"""Imported models grow, are adapted, and go back to the library that they come from where that can number what is new."""

import json
import shutil
from errno import ENOSPC
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.jobs.test_mixing import texts
from tests.pretrained.folders import Models, write_model
from tests.pretrained.tokenizer_families import QUIET
from tests.pretrained.tokenizer_files import ODD
from tests.pretrained.tokenizer_files import texts as sentences
from tests.slow import some

from dragoman.errors import ExportError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs.adapt import AdaptationSettings, adapt
from dragoman.jobs.grow import grow_run
from dragoman.pretrained.huggingface import export
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import ORIGINAL, open_run
from dragoman.text.frames import Between
from dragoman.training.reports import Silent

transformers = pytest.importorskip("transformers")

FEW = ("training.steps=2", "training.threads=1", "training.device=cpu", "decoding.beam=1", "decoding.maximum_length=12")
LANGUAGES = {"nllb": "hmn_Latn", "m2m100": "hmn", "mbart50": "lo_LA"}
WAYS = {"nllb": ("eng_Latn", "vie_Latn"), "m2m100": ("en", "vi"), "mbart50": ("en_XX", "vi_VN")}


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Keep a sentence."""
        self.said.append(text)


def characters(folder: Path) -> Path:
    """Write a file with two new characters."""
    path = folder / "new.txt"
    path.write_text("ʔ ə\nʔ ə\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", some(("marian", "m2m100", "nllb", "mbart50", "pegasus", "t5"), ("marian", "nllb")))
def test_a_grown_import_translates_as_before(name: str, imported: Models, tmp_path: Path) -> None:
    _, base, _ = imported(name)
    new = [LANGUAGES[name]] if name in LANGUAGES else []
    made = grow_run(base, tmp_path / "run", source=[characters(tmp_path)], languages=new)
    run = open_run(tmp_path / "run")
    assert made.rows == (2 + len(new),) * 2 and made.characters == ("ə", "ʔ")
    way = Between(*WAYS[name]) if name in WAYS else None
    found, expected = (
        [one.ids for one in Translator.load(folder).translate(sentences()[:10:2], to=way, maximum_length=12)]
        for folder in (run.folder, base)
    )
    assert found == expected
    assert run.source.decode(run.source.encode("ʔə cats")) == "ʔə cats"
    if new:
        assert set(run.directions.targets) == {*open_run(base).directions.targets, *new}


@pytest.mark.parametrize("way", [("eng_Latn", "hmn_Latn"), ("hmn_Latn", "eng_Latn"), ("eng_Latn", "vie_Latn")])
def test_a_base_translates_only_languages_that_it_knows(way: tuple[str, str], imported: Models, tmp_path: Path) -> None:
    grow_run(imported("nllb")[1], tmp_path / "grown", languages=["hmn_Latn"])
    data, heard = texts(tmp_path / "domain", languages=way), Heard()
    chosen = AdaptationSettings(assignments=(*FEW, f"data.source={way[0]}", f"data.target={way[1]}"))
    adapt(tmp_path / "grown", data, tmp_path / "run", settings=chosen, listener=heard)
    translated = "hmn_Latn" not in way
    assert (len(open_run(tmp_path / "run").recipe.data.train) == 2) == translated
    assert any("cannot translate into or from its new languages" in one for one in heard.said) != translated


@pytest.mark.slow
def test_a_new_language_of_nllb_is_learned(tmp_path: Path) -> None:
    import_model(str(write_model(tmp_path / "model", "nllb")), tmp_path / "base")
    grow_run(tmp_path / "base", tmp_path / "grown", languages=["hmn_Latn"])
    data = texts(tmp_path / "domain", languages=("eng_Latn", "hmn_Latn"))
    assigned = (*FEW, "data.source=eng_Latn", "data.target=hmn_Latn")
    adapt(tmp_path / "grown", data, tmp_path / "run", settings=AdaptationSettings(mix=0.0, assignments=assigned))
    run, before = open_run(tmp_path / "run"), open_run(tmp_path / "grown")
    assert run.languages == ("eng_Latn", "hmn_Latn")
    row = run.source.tag("hmn_Latn")
    rows = [one.load_model(torch.device("cpu")).encoder.embedding.weight[row] for one in (run, before)]
    assert not torch.equal(*rows)
    assert len(Translator.load(run.folder).translate(["I love cats."])) == 1


def test_a_full_disk_leaves_nothing(imported: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, base, _ = imported("nllb")

    def full(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    named = rf"the run folder {tmp_path}/run cannot be written \(No space left on device\); .*make room"
    with pytest.raises(RunError, match=named):
        grow_run(base, tmp_path / "run", languages=["hmn_Latn"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["m2m100", "nllb", "mbart50", "pegasus", "t5"])
def test_what_the_library_cannot_number_is_not_exported(name: str, imported: Models, tmp_path: Path) -> None:
    grow_run(imported(name)[1], tmp_path / "run", source=[characters(tmp_path)])
    with pytest.raises(
        ExportError, match=r"was extended with new characters or languages, which the tokeniser of `\w+`"
    ) as refused:
        export(tmp_path / "run", tmp_path / "out")
    assert ("--to ctranslate2" in str(refused.value)) == (name in ("pegasus", "t5"))  # which begin with no language
    assert not (tmp_path / "out").exists()


@QUIET
def test_marian_goes_back_with_its_new_characters(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "marian")
    import_model(str(folder), tmp_path / "base", languages=("en", "vi"))
    grow_run(tmp_path / "base", tmp_path / "grown", source=[characters(tmp_path)])
    data = texts(tmp_path / "domain")
    adapt(tmp_path / "grown", data, tmp_path / "run", settings=AdaptationSettings(mix=0.0, assignments=FEW))
    run = open_run(tmp_path / "run")
    out, proof = export(run.folder, tmp_path / "out")
    assert proof is not None and proof.logits < 1e-5
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["vocab_size"] == len(run.source) and config["pad_token_id"] == run.source.special.pad
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    for text in ("ʔə cats", "a ʔ b", *sentences()[:50:2], *ODD):
        assert tokenizer(text, add_special_tokens=False).input_ids == run.source.encode(text), text
    import_model(str(out), tmp_path / "again", languages=("en", "vi"))
    again = open_run(tmp_path / "again")
    assert again.source == run.source and again.target == run.target
    assert "grown" not in again.manifest[ORIGINAL]
    before, after = load_file(folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert {name: tensor.shape[0] for name, tensor in after.items() if tensor.shape != before[name].shape} == {
        "model.shared.weight": len(run.source),
        "final_logits_bias": 1,
    }
