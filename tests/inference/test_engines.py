"""Which engine translates."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import Trained, dragoman

from dragoman.conversion.job import export
from dragoman.errors import InputError, RunError
from dragoman.inference import engines
from dragoman.inference.ctranslate2.translator import ExportedTranslator
from dragoman.inference.engines import load_translator
from dragoman.inference.translator import Translator

LINES = "I love cats.\n\nThis is a book.\n"


@pytest.fixture(scope="module")
def run(trained: Trained) -> Path:
    """A run with exports beside it."""
    folder = trained("transformer", "seed=5")
    export(folder, quantization="float32")
    export(folder, quantization="int8")
    return folder


def test_auto_takes_an_export_of_the_same_numbers(run: Path):
    translator = load_translator(run)
    assert isinstance(translator, ExportedTranslator)
    assert translator._folder.name == "ctranslate2-float32"


def test_an_engine_that_does_not_exist_is_refused(run: Path):
    with pytest.raises(InputError, match=r"unknown engine `onnx`; choose auto, torch or ctranslate2"):
        load_translator(run, engine="onnx")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [["runs/a", "runs/b"], None])
def test_runs_are_paths_for_every_engine(given: Any):
    with pytest.raises(InputError, match=r"is not the path of a run; give each path as an argument"):
        load_translator(given)


def test_ctranslate2_takes_the_smallest_export(run: Path):
    translator = load_translator(run, engine="ctranslate2")
    assert isinstance(translator, ExportedTranslator)
    assert translator._folder.name == "ctranslate2-int8"


@pytest.mark.parametrize(
    "asked",
    [
        {"engine": "torch"},
        {"attention": True},
        {"method": "sample"},
        {"coverage_penalty": 0.2},
        {"no_repeat_ngram": 2},
        {"precision": "bfloat16"},
    ],
)
def test_auto_takes_torch_for_what_the_other_has_not(run: Path, asked: dict[str, object]):
    assert isinstance(load_translator(run, **asked), Translator)  # type: ignore[arg-type]


def test_an_export_that_is_still_being_proven_is_not_taken(run: Path, tmp_path: Path):
    copied = tmp_path / "run"
    shutil.copytree(run, copied)
    done = copied / "exports" / "ctranslate2-float32"
    assert isinstance(load_translator(copied), ExportedTranslator)
    done.rename(done.with_name(".ctranslate2-float32.partial"))
    assert isinstance(load_translator(copied), Translator)


def test_auto_takes_torch_where_ctranslate2_is_not_installed(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "can_be_used", lambda: False)
    assert isinstance(load_translator(run), Translator)
    with pytest.raises(InputError, match="CTranslate2 is not installed"):
        load_translator(run, engine="ctranslate2")


def test_auto_takes_torch_for_several_runs_and_without_exports(run: Path, trained: Trained):
    assert isinstance(load_translator(run, run), Translator)
    assert isinstance(load_translator(trained("rnn")), Translator)


def test_what_cannot_be_had_is_refused(run: Path, trained: Trained):
    exported = run / "exports" / "ctranslate2-int8"
    with pytest.raises(RunError, match=r"has no export .*dragoman export"):
        load_translator(trained("rnn"), engine="ctranslate2")
    with pytest.raises(InputError, match="torch cannot read"):
        load_translator(exported, engine="torch")
    with pytest.raises(InputError, match="give the runs"):
        load_translator(exported, run)
    with pytest.raises(InputError, match="attention"):
        load_translator(exported, attention=True)
    with pytest.raises(InputError, match="one model at a time"):
        load_translator(run, run, engine="ctranslate2")


def test_the_recipe_of_the_run_says_how_to_decode(run: Path):
    """Its settings, changed since the export was made, are those of the torch engine too."""
    recipe = run / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    try:
        recipe.write_text(text.replace("minimum_length: 2", "minimum_length: 3"), encoding="utf-8")
        assert load_translator(run).settings.minimum_length == 3
    finally:
        recipe.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--n-best", 3), ("--json",), ("--beam", 1)])
def test_the_command_gives_the_same_from_both_engines(run: Path, options: tuple[object, ...]):
    own = dragoman("translate", run, "--engine", "torch", *options, stdin=LINES)
    other = dragoman("translate", run, *options, stdin=LINES)
    assert (other.code, other.errors) == (0, "")
    assert [line.rpartition("|||")[0] or line[:40] for line in other.lines] == [
        line.rpartition("|||")[0] or line[:40] for line in own.lines
    ]
