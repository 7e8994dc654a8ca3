"""A pretrained model becomes an ordinary run that computes the same, and is handed back as it was."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.pretrained.folders import FAMILIES, write_model
from tests.tiny import dragoman, refusal

from dragoman.errors import ImportModelError
from dragoman.inference.translator import Translator
from dragoman.pretrained import job, proof
from dragoman.pretrained.huggingface import export
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import open_run
from dragoman.text.frames import Between

transformers = pytest.importorskip("transformers", reason="compares with transformers, which is not installed")

SENTENCES = ("I love cats.", "The cat sits on the mat near the old school.", "Tôi yêu mèo.")
WAYS = {"marian": ("en", "vi"), "m2m100": ("en", "vi"), "nllb": ("eng_Latn", "vie_Latn"), "mbart50": ("en_XX", "vi_VN")}
NAMED = {"pegasus": ("en", "vi"), "t5": ("en", "vi"), "marian": ("en", "vi")}
"""Languages of the families whose files do not say them."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Import a random model of each family, once."""
    made: dict[str, tuple[Path, Path, job.Imported]] = {}

    def make(name: str) -> tuple[Path, Path, job.Imported]:
        if name not in made:
            place = tmp_path_factory.mktemp(name)
            folder = write_model(place / "model", name)
            found = import_model(str(folder), place / "run", languages=NAMED.get(name, (None, None)))
            made[name] = folder, place / "run", found
        return made[name]

    return make


@pytest.mark.parametrize("name", FAMILIES)
def test_an_import_proves_itself(name: str, imported: Any) -> None:
    _, run, found = imported(name)
    assert found.proof is not None and found.proof.logits < proof.ROUNDING and found.proof.greedy > 0.99
    assert open_run(run).manifest["imported"]["proof"]["version"] == transformers.__version__


@pytest.mark.parametrize("name", FAMILIES)
def test_greedy_translations_are_those_of_transformers(name: str, imported: Any) -> None:
    folder, run, _ = imported(name)
    way = WAYS.get(name)
    with proof.quietly():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    options: dict[str, Any] = {}
    if way is not None and name != "marian":
        tokenizer.src_lang = way[0]
        forced = f"__{way[1]}__" if name == "m2m100" else way[1]
        options["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(forced)
    translator = Translator.load(run, device="cpu", beam=1, maximum_length=12)
    between = Between(*way) if way is not None and name != "marian" else None
    for sentence in SENTENCES:
        codec = translator.target
        unwritten = [[index] for index in codec.special.unwritten if index not in options.values()]
        written = model.generate(
            **tokenizer(sentence, return_tensors="pt"),
            num_beams=1,
            do_sample=False,
            max_new_tokens=12 + (1 if options else 0),
            bad_words_ids=[one for one in unwritten if one != [codec.special.eos]] or None,
            **options,
        )
        (own,) = translator.translate([sentence], to=between)
        theirs = written[0, 1 + len(options) :].tolist()
        assert own.text == codec.decode(theirs[:12])


@pytest.mark.parametrize("name", FAMILIES)
def test_an_export_gives_the_same_files_back(name: str, imported: Any, tmp_path: Path) -> None:
    folder, run, _ = imported(name)
    out, proved = export(run, tmp_path / "out")
    before, after = (load_file(one / "model.safetensors") for one in (folder, out))
    assert set(before) == set(after)
    for tensor_name, tensor in before.items():
        assert tensor.dtype == after[tensor_name].dtype and torch.equal(tensor, after[tensor_name]), tensor_name
    for path in folder.iterdir():
        assert path.suffix == ".safetensors" or path.read_bytes() == (out / path.name).read_bytes()
    assert proved is not None and proved.difference < proof.ROUNDING


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


def test_the_command_makes_a_run_that_translates(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    found = dragoman("import", folder, "--out", tmp_path / "run")
    assert (found.code, found.lines) == (0, [str(tmp_path / "run")])
    assert "Proved" in found.errors and "family marian" in found.errors
    run = open_run(tmp_path / "run")
    assert run.languages == ("en", "vi") and run.manifest["imported"]["name"] == "opus-mt-en-vi"
    translated = dragoman("translate", tmp_path / "run", "--beam", "1", stdin="I love cats.\n")
    assert translated.code == 0 and len(translated.lines) == 1


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


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("pegasus", [], "does not say its source language; name it with `--from`"),
        ("pegasus", ["--from", "en"], "does not say its target language; name it with `--to`"),
        ("mbart50", ["--to", "vi"], "does not know `--to vi`; did you mean `vi_VN`"),
        ("nllb", ["--from", "eng"], "does not know `--from eng`; did you mean `eng_Latn`"),
    ],
)
def test_languages_that_are_missing_or_unknown_are_named(
    name: str, options: list[str], named: str, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model", name)
    assert named in refusal("import", folder, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_a_run_is_left_alone(imported: Any) -> None:
    folder, run, _ = imported("marian")
    assert "already holds a run" in refusal("import", folder, "--out", run)


def test_a_tokeniser_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps(ids | {"more": len(ids) + 5}), encoding="utf-8")
    assert "do not belong together" in refusal("import", folder, "--out", tmp_path / "run")


@pytest.mark.parametrize("name", ["marian", "m2m100", "t5"])
def test_every_command_takes_an_imported_run(name: str, imported: Any, tmp_path: Path) -> None:
    _, run, _ = imported(name)
    languages = ["--from", "en", "--to", "vi"] if name == "m2m100" else []
    (tmp_path / "source").write_text("I love cats.\nThe dog runs.\n")
    (tmp_path / "target").write_text("Tôi yêu mèo.\nCon chó chạy.\n")
    both = [tmp_path / "source", tmp_path / "target"]
    scored = dragoman("score", run, *both, *languages)
    assert scored.code == 0 and len(scored.lines) == 2, scored.errors
    aligned = dragoman("align", run, *both, *languages)
    assert aligned.code == 0 and len(aligned.lines) == 2, aligned.errors
    drawn = dragoman(
        "attend", run, "I love cats.", "--target", "Tôi yêu mèo.", "--output", tmp_path / "page.html", *languages
    )
    assert drawn.code == 0 and (tmp_path / "page.html").exists(), drawn.errors
