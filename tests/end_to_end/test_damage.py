"""Runs that are missing, half-written, damaged or too new, and sentences that they cannot take."""

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, recipe_file, refusal

from dragoman.cli import translate


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """Copy a run, to be damaged."""
    return shutil.copytree(trained("rnn"), tmp_path / "run")


def translated(*arguments: object) -> str:
    """Translate, which must be refused; return the sentence."""
    return refusal("translate", *arguments, stdin="I love cats.\n")


def translated_text(run: Path) -> str:
    """Translate, which must work; return the translation."""
    found = dragoman("translate", run, stdin="I love cats.\n")
    assert found.code == 0
    return found.output


def flip(path: Path) -> None:
    """Flip one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_run_can_be_copied_anywhere(trained: Trained, run: Path):
    there, here = (dragoman("translate", one, stdin="I love cats.\n") for one in (trained("rnn"), run))
    assert there.output == here.output


def test_what_is_no_run_is_refused(tmp_path: Path):
    assert translated(tmp_path / "none") == (
        f"there is no run folder {tmp_path / 'none'}; train one with `dragoman train`, or check the path"
    )
    (tmp_path / "file").touch()
    assert translated(tmp_path / "file") == f"{tmp_path / 'file'} is a file; give the folder of a run"
    assert "is not a complete run: manifest.json is missing" in translated(tmp_path)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("manifest.json", "is not a complete run: manifest.json is missing; copy the whole folder, or train again"),
        ("recipe.yaml", "is not a complete run: recipe.yaml is missing; copy the whole folder, or train again"),
        ("source.json", "source.json is missing; restore it from an intact copy"),
        ("model.safetensors", "has no model.safetensors yet: training has not reached its first validation"),
    ],
)
def test_a_file_that_is_missing_is_named(run: Path, name, sentence):
    (run / name).unlink()
    assert sentence in translated(run)


@pytest.mark.parametrize("name", ["manifest.json", "source.json", "target.json", "model.safetensors"])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_named(run: Path, name, share):
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(share * len(content))])
    sentence = translated(run)
    assert f"{run / name} is damaged" in sentence and "intact copy" in sentence


@pytest.mark.parametrize("name", ["source.json", "target.json", "model.safetensors"])
def test_one_flipped_bit_is_found(run: Path, name):
    flip(run / name)
    sentence = translated(run)
    assert str(run / name) in sentence and "intact copy" in sentence


def test_a_recipe_that_was_edited_is_found(run: Path):
    text = (run / "recipe.yaml").read_text(encoding="utf-8")
    (run / "recipe.yaml").write_text(text.replace("hidden: 32", "hidden: 34"), encoding="utf-8")
    assert "`model.hidden` is 34, but was 32; change it back" in translated(run)
    (run / "recipe.yaml").write_text(text.replace("hidden: 32", "hiden: 32"), encoding="utf-8")
    assert "has no setting `hiden`; did you mean `hidden`?" in translated(run)
    (run / "recipe.yaml").write_text(text[: len(text) // 2] + "\n  - [", encoding="utf-8")
    assert "recipe.yaml is not valid YAML" in translated(run)


def test_a_run_of_a_newer_program_is_refused(run: Path):
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(manifest | {"format": 99}), encoding="utf-8")
    assert (
        translated(run)
        == f"{run / 'manifest.json'} has format 99, newer than the 2 that this version reads; update dragoman"
    )


def test_a_run_whose_models_computed_otherwise_is_refused(run: Path):
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(manifest | {"format": 1}), encoding="utf-8")
    assert translated(run).startswith(f"{run / 'manifest.json'} has format 1, older than the 2 that")


@pytest.mark.parametrize("damage", [flip, lambda path: path.write_bytes(path.read_bytes()[:-1])], ids=["flip", "cut"])
def test_a_damaged_checkpoint_is_not_resumed_from(run: Path, tmp_path: Path, damage):
    damage(run / "training" / "last.safetensors")
    command = ("train", recipe_file(tmp_path, "rnn"), "--out", run, "--resume", "--set", "training.steps=30")
    sentence = refusal(*command)
    assert f"{run / 'training' / 'last.safetensors'} is damaged" in sentence


def test_a_run_whose_checkpoint_is_gone_does_not_begin_again(run: Path):
    before = (run / "model.safetensors").read_bytes()
    (run / "training" / "last.safetensors").unlink()
    sentence = refusal("train", "--resume", run, "--set", "training.steps=30")
    assert f"{run / 'training' / 'last.safetensors'} is missing" in sentence
    assert (run / "model.safetensors").read_bytes() == before


def test_a_run_that_has_ended_is_mended_by_resuming_it(run: Path):
    before = translated_text(run)
    flip(run / "model.safetensors")
    assert f"`dragoman train --resume {run}`" in translated(run)
    assert dragoman("train", "--resume", run).code == 0
    assert translated_text(run) == before
    flip(run / "model.safetensors")
    flip(run / "training" / "last.safetensors")
    assert "--resume" not in translated(run), "it cannot be resumed"


def test_best_weights_that_are_damaged_are_replaced_by_the_same_ones_before_a_run_is_resumed(run: Path):
    flip(run / "model.safetensors")
    sentence = translated(run)
    assert f"`dragoman train --resume {run}`" in sentence and "which is intact" in sentence
    found = dragoman("train", "--resume", run, "--set", "training.steps=21")
    assert found.code == 0 and re.search(r"model\.safetensors was damaged .* replaced by ", found.errors)
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    flip(run / "model.safetensors")
    assert "--resume" not in translated(run), "nothing is left to replace it by"
    last = (run / "training" / "last.safetensors").read_bytes()
    assert "model.safetensors is damaged" in refusal("train", "--resume", run, "--set", "training.steps=22")
    assert (run / "training" / "last.safetensors").read_bytes() == last
    (run / "model.safetensors").unlink()
    found = dragoman("train", "--resume", run)
    assert found.code == 0 and "model.safetensors is missing, so the best weights are chosen again" in found.errors
    assert dragoman("translate", run, stdin="I love cats.\n").code == 0


def test_an_average_is_not_resumed_from(run: Path, tmp_path: Path):
    assert dragoman("average", run, "--out", tmp_path / "average").code == 0
    sentence = refusal("train", recipe_file(tmp_path, "rnn"), "--out", tmp_path / "average", "--resume")
    assert "is an average of checkpoints, which cannot be trained further; resume the run it is from" in sentence


def test_runs_of_other_vocabularies_do_not_translate_together(trained: Trained):
    other = trained("rnn", "text.size=310", "training.steps=1")
    sentence = translated(trained("rnn"), other)
    assert (
        f"{trained('rnn')} and {other} have different target vocabularies, so they cannot translate together"
        in sentence
    )


def test_runs_of_other_directions_do_not_translate_together(trained: Trained):
    other = trained("rnn", "data.source=vi", "data.target=en", "training.steps=1")
    sentence = translated(trained("rnn"), other)
    assert f"translates from en to vi but {other} from vi to en, so they cannot translate together" in sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--n-best", 9], "`n_best` is 9, but only 3 hypotheses are kept; raise `beam`"),
        (["--n-best", 2, "--beam", 1], "`n_best` is 2, but only 1 hypothesis is kept"),
        (["--set", "baem=4"], "has no setting `baem`; did you mean `beam`?"),
        (["--set", "beam=many"], "`beam` is 'many'"),
        (["--set", "method=bean"], "`method` cannot be `bean`; did you mean `beam`?"),
        (["--set", "beam"], "is not of the form a.b=value"),
        (["--set", "cls=1"], "has no setting `cls`"),
    ],
)
def test_decoding_options_that_do_not_fit_are_named(trained: Trained, options, sentence):
    assert sentence in translated(trained("rnn"), *options)


@pytest.fixture
def bounded(trained: Trained) -> Path:
    """Train a model of at most 64 positions."""
    return trained("transformer", "model.positions=learned", "model.max_positions=64", "training.steps=2")


@pytest.mark.parametrize("chunk", [1, 1024])
def test_a_sentence_longer_than_the_positions_is_named_by_its_line(bounded: Path, monkeypatch, chunk):
    monkeypatch.setattr(translate, "CHUNK", chunk)
    given = "I love cats.\n\n" + "cats " * 100 + "\n"
    found = dragoman("translate", bounded, stdin=given)
    assert found.code == 2
    assert found.errors.startswith("dragoman: source sentence 3 has ")
    assert "more than the 64 positions of this model; split it" in found.errors


def test_translations_end_at_the_last_position(bounded: Path):
    options = ("--set", "minimum_length=60", "--set", "maximum_extra=200")
    assert len(dragoman("translate", bounded, *options, "--align", stdin="I love cats.\n").lines) == 1


@pytest.mark.parametrize("command", ["score", "align", "evaluate"])
def test_long_sentences_of_files_are_named_by_their_line(bounded: Path, tmp_path: Path, command):
    for name, lines in (("a", ["cats", "cats " * 100]), ("b", ["mèo", "mèo"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert "source sentence 2 has " in refusal(command, bounded, tmp_path / "a", tmp_path / "b")
    if command != "evaluate":
        assert "target sentence 2 has " in refusal(command, bounded, tmp_path / "b", tmp_path / "a")
