"""Run folders."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
import torch
from tests.tiny import Trained, recipe, with_decoding

from dragoman import json_files
from dragoman.data.checksums import weights_digest
from dragoman.data.directions import Directions
from dragoman.data.ledger import LEDGER, write_recorded
from dragoman.errors import RunError
from dragoman.machine.provenance import versions
from dragoman.runs import folder as module
from dragoman.runs.folder import Run, new_run, open_run, replacing_run
from dragoman.text import WordsSettings, learn_codecs
from dragoman.training.checkpoint import own_tensors
from dragoman.training.files import RunFiles

CPU = torch.device("cpu")


@pytest.fixture
def fresh(tmp_path: Path) -> Run:
    """Make a run that is not on disk."""
    codecs = learn_codecs(WordsSettings(minimum_count=1), lambda: [("a b", "x y"), ("b c", "y z")])
    return new_run(tmp_path / "run", recipe("rnn", "text={kind: words}"), codecs, metadata={"precision": "float32"})


def test_a_new_run_is_not_on_disk_before_it_is_saved(fresh: Run):
    assert not fresh.folder.exists()
    fresh.save()
    again = open_run(fresh.folder)
    assert open_run(str(fresh.folder)) == again
    assert (again.recipe, again.source, again.target) == (fresh.recipe, fresh.source, fresh.target)
    assert dict(again.manifest) == dict(fresh.manifest)
    assert not list(fresh.folder.glob("*.partial"))


def test_the_manifest_says_how_the_run_was_made(fresh: Run):
    assert fresh.manifest["seed"] == fresh.recipe.seed
    assert fresh.manifest["precision"] == "float32"
    assert set(versions()) == {"dragoman", "torch", "python", "machine"} <= set(fresh.manifest)


def test_loading_does_not_touch_the_random_numbers_that_a_training_in_another_thread_draws(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise AssertionError("the state of all threads was changed")

    run, before = open_run(trained("rnn")), torch.get_rng_state()
    for name in ("manual_seed", "set_rng_state"):
        monkeypatch.setattr(torch, name, fail)
    run.load_model(CPU)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_for_transformers_is_to_be_imported(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=f"form of `transformers`, .* `dragoman import {tmp_path} --out RUN`"):
        open_run(tmp_path)


@pytest.mark.parametrize("last", ["recipe.yaml", "manifest.json"])
def test_a_run_that_was_cut_off_while_it_was_saved_is_not_a_run(fresh: Run, monkeypatch: pytest.MonkeyPatch, last):
    def fail(folder: Path, path: Path, text: str) -> None:
        if path.name == last:
            raise OSError(28, "No space left on device")
        write_recorded(folder, path, text)

    monkeypatch.setattr(module, "write_recorded", fail)
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\); choose another with --out"):
        fresh.save()
    with pytest.raises(RunError, match="is not a complete run"):
        open_run(fresh.folder)
    assert not (fresh.folder / "manifest.json").exists()


def test_a_fresh_model_is_the_same_each_time(fresh: Run):
    first, second = fresh.fresh_model(), fresh.fresh_model()
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    assert first.decoder.head.weight.shape[0] == len(fresh.target)


def test_a_trained_model_is_ready_to_translate(trained: Trained):
    run = open_run(trained("transformer"))
    model = run.load_model(CPU)
    assert not model.training
    assert run.directions == Directions((("en", "vi"),)) and run.languages == ("en", "vi")
    fresh = run.fresh_model()
    assert any(not torch.equal(a, b) for a, b in zip(model.parameters(), fresh.parameters(), strict=True))


def test_other_weights_of_the_run_can_be_loaded(trained: Trained):
    run = open_run(trained("rnn"))
    first = run.load_model(CPU, run.folder / "checkpoints" / "step-00000010.safetensors")
    last = run.load_model(CPU, run.folder / "checkpoints" / "step-00000020.safetensors")
    assert any(not torch.equal(a, b) for a, b in zip(first.parameters(), last.parameters(), strict=True))


def test_a_run_without_weights_says_when_there_will_be_some(fresh: Run):
    fresh.save()
    with pytest.raises(RunError, match="training has not reached its first validation; continue it with"):
        open_run(fresh.folder).load_model(CPU)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "new"}', '{"format": 1e999}', '{"seed": 1}', "\xff"])
def test_a_damaged_manifest_is_named(fresh: Run, text):
    fresh.save()
    (fresh.folder / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match=r"manifest\.json is damaged; .*intact copy"):
        open_run(fresh.folder)


def test_an_older_format_whose_models_computed_otherwise_is_refused(fresh: Run):
    fresh.save()
    manifest = dict(fresh.manifest) | {"format": 1}
    (fresh.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(
        RunError, match=r"has format 1, .* from before release 0\.1\.0, and no release reads it: train it again"
    ):
        open_run(fresh.folder)


def test_every_file_of_a_run_is_read_once(trained: Trained, monkeypatch: pytest.MonkeyPatch):
    folder, opened, read = trained("rnn"), [], json_files.open_file

    def watched(path: Path) -> BinaryIO:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(json_files, "open_file", watched)
    open_run(folder)
    assert [path for path in opened if path.name != LEDGER and opened.count(path) > 1] == []
    assert folder / "manifest.json" in opened


def sealed_with(run: Run, **entries: object) -> Run:
    """Write a run whose manifest holds other entries, with the right checksums, as somebody who means harm would."""
    manifest = {**run.manifest, **entries}
    replace(run, manifest=manifest).save()
    return run


@pytest.mark.parametrize(
    "entries",
    [
        {"data": []},
        {"data": {"a": 1}},
        {"start_from": {"whole": 5}},
        {"start_from": {"whole": {"run": ["a"]}}},
        {"grown": "yes"},
        {"grown": {"languages": [5]}},
        {"grown": {"languages": 5}},
        {"adapted": ["runs"]},
        {"adapted": {"runs": [5]}},
        {"imported": {"files": {"../../outside": "ab"}}},
        {"imported": {"files": {"a": 5}}},
        {"identity": 5},
        {"threads": 10**9},
        {"replicas": "many"},
        {"tokens_before": "many"},
        {"tokens_before": -1},
        {"tokens_before": 10**400},
        {"cost": []},
        {"cost": {"tokens": "many"}},
    ],
    ids=str,
)
def test_entries_that_no_run_writes_are_damage_though_their_checksum_is_right(entries: dict[str, object], fresh: Run):
    sealed_with(fresh, **entries)
    with pytest.raises(RunError, match=r"manifest\.json is damaged \(an entry is not what a run has there\)"):
        open_run(fresh.folder)


@pytest.mark.parametrize("setting", ["model.layers=900", "model.hidden=4000000000000", "model.embedding=4000000000"])
def test_a_model_that_its_weights_do_not_fit_takes_no_memory(setting: str, fresh: Run):
    fresh.save()
    fresh.files.save(fresh.weights, own_tensors(fresh.fresh_model()), {})
    other = recipe("rnn", "text={kind: words}", setting)
    replace(fresh, recipe=other).save()
    with pytest.raises(RunError, match=r"model\.safetensors does not fit the model of its recipe"):
        open_run(fresh.folder).load_any(torch.device("cpu"))


def test_adapters_of_one_another_are_refused(fresh: Run, tmp_path: Path):
    other = recipe(
        "rnn", "text={kind: words}", "model.adapters={rank: 1}", f"model.start_from={{whole: {tmp_path / 'a'}}}"
    )
    names = ("a", "b")
    for name in names:
        RunFiles(tmp_path / name, fresh.manifest["identity"]).save(
            tmp_path / name / "model.safetensors", {}, {"of": name}
        )
    for name, base in zip(names, reversed(names), strict=True):
        content = weights_digest(tmp_path / base / "model.safetensors")
        origin = {"run": str(tmp_path / base), "weights": "", "content": content}
        sealed_with(replace(fresh, folder=tmp_path / name, recipe=other), start_from={"whole": origin})
    with pytest.raises(RunError, match=r"a holds adapters of a run that holds adapters of it; copy the runs again"):
        open_run(tmp_path / "a").load_any(torch.device("cpu"))


def test_what_killed_processes_left_of_a_run_is_removed_and_what_others_write_is_not(tmp_path: Path):
    killed = (
        "import os; from pathlib import Path; from dragoman.runs.folder import replacing_run\n"
        "with replacing_run(Path('run')), replacing_run(Path('other')): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False)
    left = {path.name[:4] for path in tmp_path.iterdir()}
    assert left == {".run", ".oth"}
    with replacing_run(tmp_path / "run") as slow, replacing_run(tmp_path / "run") as temporary:
        (slow / "model").touch()
        (temporary / "model").touch()
        assert len({slow, temporary}) == 2
    assert sorted(path.name[:4] for path in tmp_path.iterdir()) == [".oth", "run"]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["model"]


def test_runs_that_rerank_are_found_where_the_recipe_says_or_else_beside_the_run(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "runs").mkdir()
    run = with_decoding(trained("rnn"), tmp_path / "runs" / "forward", rerank=["runs/back", "gone"])
    monkeypatch.chdir(tmp_path / "runs")
    assert open_run(run).recipe.decoding.rerank == (Path("runs/back"), Path("gone"))
    (tmp_path / "runs" / "back").mkdir()
    assert open_run("forward").recipe.decoding.rerank == (tmp_path / "runs" / "back", Path("gone"))
    monkeypatch.chdir(tmp_path)
    assert open_run("runs/forward").recipe.decoding.rerank == (Path("runs/back"), Path("gone"))
