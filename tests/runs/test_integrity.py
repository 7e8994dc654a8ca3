"""Damage and edits of a run's own files are noticed; runs of earlier versions, which could not notice them, still open."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.tiny import recipe

from dragoman.data.ledger import LEDGER
from dragoman.errors import DamagedError, DragomanError, RunError, notice_once
from dragoman.runs import integrity
from dragoman.runs.folder import Run, new_run, open_run
from dragoman.text import WordsSettings, learn_codecs

CPU = torch.device("cpu")
DATA = {"train.en": "a" * 64, "train.vi": "b" * 64}


def make(folder: Path, *assignments: str, words: str = "c") -> Run:
    """Write a small run with weights."""
    codecs = learn_codecs(WordsSettings(minimum_count=1), lambda: [("a b", "x y"), (f"b {words}", "y z")])
    run = new_run(
        folder,
        recipe("transformer", "text={kind: words}", "model.tied=target", *assignments),
        codecs,
        metadata={"data": DATA},
    )
    run.save()
    run.files.save_weights(run.weights, run.fresh_model(), {"step": 1})
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write a small run."""
    return make(tmp_path / "run")


def edit(path: Path, before: str, after: str) -> None:
    """Change a file as an editor does."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("heads: 2", "heads: 1", "model.heads"),
        ("positions: sinusoidal", "positions: none", "model.positions"),
        ("score: scaled_dot", "score: dot", "model.self_score"),
        ("seed: 1", "seed: 2", "seed"),
        ("lower: false", "lower: true", "text.lower"),
        ("batch_tokens: 400", "batch_tokens: 401", "training.batch_tokens"),
    ],
)
def test_a_recipe_on_which_weights_depend_may_not_be_edited(run: Run, before: str, after: str, place: str):
    edit(run.folder / "recipe.yaml", before, after)
    with pytest.raises(RunError, match=rf"recipe\.yaml was changed .*`{place}` is .*change it back"):
        open_run(run.folder)


def test_an_edit_of_what_a_run_was_not_trained_with_is_said_once(run: Run, caplog: pytest.LogCaptureFixture):
    notice_once.cache_clear()
    edit(run.folder / "recipe.yaml", "beam: 3", "beam: 7")
    edit(run.folder / "recipe.yaml", "steps: 20", "steps: 40")
    for _ in range(2):
        opened = open_run(run.folder)
    assert (opened.recipe.decoding.beam, opened.recipe.training.steps) == (7, 40)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "`decoding.beam` is 7, but was 3" in said[1] and "`training.steps` is 40, but was 20" in said[0]


def test_a_recipe_that_was_cut_off_is_noticed(run: Run, caplog: pytest.LogCaptureFixture):
    notice_once.cache_clear()
    path = run.folder / "recipe.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("beam:")] + "{}" * text[: text.index("beam:")].endswith(":\n"), encoding="utf-8")
    with_settings = open_run(run.folder).recipe.decoding != run.recipe.decoding
    assert with_settings == bool(caplog.records)


def test_every_flipped_bit_of_the_manifest_is_noticed(run: Run):
    path = run.folder / "manifest.json"
    content = path.read_bytes()
    for place in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            assert dict(open_run(run.folder).manifest) == dict(run.manifest)  # white space
        except DragomanError as error:
            assert "manifest.json is damaged" in str(error) or "has format" in str(error)


def test_a_manifest_that_nests_deeply_is_damaged(run: Run):
    (run.folder / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(RunError, match=r"manifest\.json is damaged"):
        open_run(run.folder)


@pytest.mark.parametrize("other", [("seed=2",), ("training.learning_rate=0.5",)], ids=["seed", "rate"])
def test_weights_of_another_run_are_refused(run: Run, tmp_path: Path, other: tuple[str, ...]):
    foreign = make(tmp_path / "other", *other)
    run.weights.write_bytes(foreign.weights.read_bytes())
    with pytest.raises(RunError, match=r"model\.safetensors belongs to another run"):
        open_run(run.folder).load_model(CPU)


def test_weights_that_were_trained_with_other_words_are_refused(run: Run, tmp_path: Path):
    run.weights.write_bytes(make(tmp_path / "other", words="d").weights.read_bytes())
    with pytest.raises(RunError, match="belongs to another run"):
        open_run(run.folder).load_model(CPU)


def test_equal_runs_have_equal_weights_to_the_byte_whatever_their_budget(run: Run, tmp_path: Path):
    other = make(tmp_path / "other", "training.steps=99", "training.keep=0", "data.root=elsewhere")
    assert other.weights.read_bytes() == run.weights.read_bytes()


def test_a_run_of_an_earlier_version_is_read_as_it_is(run: Run):
    path = run.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for name in (integrity.CHECKSUM, integrity.RECIPE, integrity.IDENTITY, integrity.COMPARED):
        del manifest[name]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    (run.folder / LEDGER).unlink()
    edit(run.folder / "recipe.yaml", "heads: 2", "heads: 1")
    opened = open_run(run.folder)
    opened.files.save_weights(opened.weights, opened.fresh_model(), {"step": 1})
    assert opened.recipe.model.heads == 1 and opened.load_model(CPU)


def test_codecs_that_changed_places_are_noticed(run: Run):
    """Each is intact, and of this run; the vocabularies have one size."""
    source, target = (run.folder / f"{name}.json" for name in ("source", "target"))
    content = source.read_bytes()
    source.write_bytes(target.read_bytes())
    target.write_bytes(content)
    with pytest.raises(DamagedError, match=r"source\.json is damaged, or not the file that was saved there"):
        open_run(run.folder)


def test_other_weights_of_the_same_run_are_refused_in_the_place_of_the_best(run: Run):
    model = run.fresh_model()
    with torch.no_grad():
        next(model.parameters()).add_(1.0)
    run.files.save_weights(run.files.kept_at(2), model, {"step": 2})
    run.weights.write_bytes(run.files.kept_at(2).read_bytes())
    with pytest.raises(DamagedError, match=r"model\.safetensors is damaged, or not the file that was saved there"):
        open_run(run.folder).load_model(CPU)
    assert open_run(run.folder).load_model(CPU, run.files.kept_at(2))


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_a_dictionary_that_was_changed_or_lost_is_noticed(run: Run, change: str):
    replace(run, dictionary={"a": "x"}).save()
    assert open_run(run.folder).dictionary == {"a": "x"}
    if change == "edit":
        edit(run.folder / "dictionary.tsv", "x", "y")
    else:
        (run.folder / "dictionary.tsv").unlink()
    with pytest.raises(DamagedError, match=r"dictionary\.tsv is (damaged|missing)"):
        open_run(run.folder)


def test_the_manifest_of_a_run_of_equal_weights_is_not_taken_for_its_own(run: Run, tmp_path: Path):
    other = make(tmp_path / "other", "training.steps=99")
    (run.folder / "manifest.json").write_bytes((other.folder / "manifest.json").read_bytes())
    (run.folder / "recipe.yaml").write_bytes((other.folder / "recipe.yaml").read_bytes())
    with pytest.raises(DamagedError, match=r"manifest\.json is damaged, or not the file"):
        open_run(run.folder)


def test_checksums_that_are_lost_are_missed_once(run: Run, caplog: pytest.LogCaptureFixture):
    notice_once.cache_clear()
    (run.folder / LEDGER).unlink()
    for _ in range(2):
        assert open_run(run.folder).load_model(CPU)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "checksums.json is missing" in said


@pytest.mark.parametrize(
    "name", ["manifest.json", "recipe.yaml", "source.json", "target.json", "dictionary.tsv", LEDGER]
)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_pipe_or_a_device_in_a_run_is_refused_at_once(name: str, recorded: bool, run: Run):
    path = run.folder / name
    if not recorded:
        (run.folder / LEDGER).unlink()
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        path.unlink(missing_ok=True)
        make(path)
        with pytest.raises(RunError, match=rf"{path.name}|not a complete run"):
            open_run(run.folder)
