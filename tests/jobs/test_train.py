"""The whole job of training."""

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.tiny import Trained, odd_torch, recipe

from dragoman.data.encode import Encoders
from dragoman.errors import CorpusError, RunError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.jobs import train
from dragoman.jobs.train import fit
from dragoman.jobs.validation import Validation
from dragoman.native.compilation import SEGMENTATION
from dragoman.runs.folder import Run, open_run
from dragoman.training import trainer
from dragoman.training.checkpoint import load_tensors
from dragoman.training.reports import MetricsFile, Silent
from dragoman.training.trainer import Trainer
from dragoman.training.world import World


class Ear(Silent):
    """Remembers what it hears, and may send a signal at a step."""

    def __init__(self, signals: Mapping[int, int] | None = None) -> None:
        self.said: list[str] = []
        self.records: list[Mapping[str, Any]] = []
        self.steps: list[int] = []
        self.closed = False
        self.signals = dict(signals or {})

    def say(self, sentence: str) -> None:
        """Remember a sentence."""
        self.said.append(sentence)

    def record(self, record: Mapping[str, Any]) -> None:
        """Remember a record."""
        self.records.append(record)

    def progress(self, record: Mapping[str, Any]) -> None:
        """Remember a step."""
        self.steps.append(record["step"])
        if record["step"] in self.signals:
            os.kill(os.getpid(), self.signals[record["step"]])

    def close(self) -> None:
        """Remember the end."""
        self.closed = True


def test_training_warns_of_what_the_filters_drop_and_of_empty_sides_in_dev(tmp_path: Path):
    (tmp_path / "dev.tsv").write_text("I love cats.\tTôi yêu mèo.\nNo.\t \n", encoding="utf-8")
    listener = Ear()
    changes = ("training.steps=1", "data.filters.max_words=5", f"data.dev=[{{tsv: {tmp_path / 'dev.tsv'}}}]")
    fit(recipe("rnn", *changes), tmp_path / "run", listener=listener)
    empty, dropped = (one for one in listener.said if one.startswith("Warning: "))
    assert "validation leaves out 1 dev pair with an empty side" in empty and "dev.tsv, line 2" in empty
    assert "of the 300 pairs of phrasebook train are dropped" in dropped and "`data.filters`" in dropped


@pytest.mark.parametrize(
    ("changes", "slowly"),
    [(["text.sampling=0.1"], True), (["text.sampling=0.1", "text.algorithm=unigram"], False), ([], False)],
)
def test_training_says_that_bpe_dropout_is_slow_without_a_compiler(
    changes: list[str], slowly: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dragoman.native.compilation.loaded", lambda part: part != SEGMENTATION)
    monkeypatch.setattr("dragoman.native.compilation.find_compiler", lambda: None)
    listener = Ear()
    fit(recipe("transformer", "training.steps=1", *changes), tmp_path / "run", listener=listener)
    assert any("BPE-dropout runs in Python" in one for one in listener.said) == slowly


def test_training_tells_what_it_does(tmp_path: Path):
    listener = Ear()
    progress = fit(recipe("rnn", "training.steps=6", "training.validate_every=3"), tmp_path / "run", listener=listener)
    assert progress.finished and progress.step == 6
    assert listener.steps == [1, 2, 3, 4, 5, 6]
    assert listener.said == ["Reading the corpus and learning the vocabulary.", "300 pairs kept, 0 left out"]
    assert [record["step"] for record in listener.records if "dev_bleu" in record] == [3, 6]
    assert listener.closed
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "recipe.yaml", "model.safetensors", "source.json", "target.json", "manifest.json", "metrics.jsonl", "checkpoints",
        "training", "checksums.json",
    }  # fmt: skip


def test_the_manifest_holds_checksums_of_the_corpora(trained: Trained):
    manifest = open_run(trained("rnn")).manifest
    assert manifest["precision"] == "float32"
    assert manifest["data"]
    assert all(len(checksum) == 64 for checksum in manifest["data"].values())


def test_learning_makes_the_loss_smaller(trained: Trained):
    losses = [record["loss"] for record in MetricsFile(trained("rnn") / "metrics.jsonl").read() if "loss" in record]
    assert losses[-1] < losses[0] - 0.3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_training_after_the_step_under_way(tmp_path: Path, number):
    listener = Ear({3: number})
    before = signal.getsignal(number)
    progress = fit(recipe("rnn"), tmp_path / "run", listener=listener)
    assert (progress.step, progress.finished) == (3, False)
    assert listener.said[-1].startswith("Stopping")
    assert signal.getsignal(number) is before
    listener = Ear()
    assert fit(recipe("rnn"), tmp_path / "run", resume=True, listener=listener).finished
    assert listener.said[-1] == "Resuming at step 3."
    assert listener.steps[0] == 4


def test_a_second_signal_ends_training_at_once(tmp_path: Path):
    class Twice(Ear):
        def progress(self, record: Mapping[str, Any]) -> None:
            super().progress(record)
            super().progress(record)

    with pytest.raises(KeyboardInterrupt):
        fit(recipe("rnn"), tmp_path / "run", listener=Twice({2: signal.SIGINT}))
    assert fit(recipe("rnn"), tmp_path / "run", resume=True).finished


def test_training_works_beside_the_main_thread(tmp_path: Path):
    found: list[int] = []
    job = threading.Thread(target=lambda: found.append(fit(recipe("rnn", "training.steps=2"), tmp_path / "run").step))
    job.start()
    job.join()
    assert found == [2]


def test_training_is_the_same_whatever_the_caller_has_set_in_torch_and_changes_nothing_of_it(tmp_path: Path):
    fit(recipe("rnn", "training.steps=2"), tmp_path / "usual")
    with odd_torch(), torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        fit(recipe("rnn", "training.steps=2"), tmp_path / "odd")
    usual, odd = (load_tensors(tmp_path / name / "model.safetensors")[0] for name in ("usual", "odd"))
    assert all(torch.equal(odd[name], tensor) for name, tensor in usual.items())


def test_every_step_rounds_the_weights_of_the_step_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = recipe("rnn", "training.steps=4", "training.precision=bfloat16")
    fit(settings, tmp_path / "usual")
    monkeypatch.setattr(trainer, "arithmetic", lambda *_: torch.autocast("cpu", torch.bfloat16, cache_enabled=False))
    fit(settings, tmp_path / "again")
    usual, again = (load_tensors(tmp_path / name / "model.safetensors")[0] for name in ("usual", "again"))
    assert all(torch.equal(again[name], tensor) for name, tensor in usual.items())


@pytest.mark.parametrize("given", ["phrasebook-en-vi", Path("recipe.yaml"), {"seed": 1}, None])
def test_a_recipe_is_loaded_before_it_is_trained(tmp_path: Path, given: Any):
    with pytest.raises(SettingsError, match=r"is not a recipe; give `dragoman\.load_recipe"):
        fit(given, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", [Path, str])
def test_a_run_in_the_folder_is_not_overwritten(trained: Trained, kind: type):
    with pytest.raises(RunError, match="already holds a run; add --resume"):
        fit(recipe("rnn"), kind(trained("rnn")))


def test_a_run_that_was_there_is_not_continued_because_torchrun_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def attempt(launch: str, number: int, steps: int) -> int:
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(number))
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", f"/tmp/torchelastic_x/{launch}/attempt_{number}/0/error.json")
        return fit(recipe("rnn", f"training.steps={steps}"), tmp_path / "run").step

    assert attempt("none_1", 0, 2) == 2
    assert attempt("none_1", 1, 3) == 3  # as a process has died
    for number in (0, 1):
        with pytest.raises(RunError, match="already holds a run"):
            attempt("none_2", number, 4)


@pytest.mark.parametrize("begun", [True, False])
def test_the_machine_that_is_left_goes_on_once_the_lock_of_the_lost_one_expires(
    begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "mine")
    monkeypatch.setattr("dragoman.runs.lock.STALE", 0.5)
    if begun:
        assert fit(recipe("rnn", "training.steps=1"), tmp_path / "run").step == 1
    else:  # it was lost before it had written the run
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
        (tmp_path / "run").mkdir()
    table = {"token": "other", "host": "lost", "pids": [7], "time": time.time()}
    (tmp_path / "run" / ".lock").write_text(json.dumps(table), encoding="utf-8")
    assert fit(recipe("rnn", "training.steps=2"), tmp_path / "run").step == 2


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_training_on_one_folder_is_refused(tmp_path: Path, resume: bool):
    class Second(Ear):
        def progress(self, record: Mapping[str, Any]) -> None:
            super().progress(record)
            with pytest.raises(RunError, match=r"is in use: process .* is working in it; .* --out"):
                fit(recipe("rnn"), tmp_path / "run", resume=resume)

    listener = Second()
    assert fit(recipe("rnn", "training.steps=1"), tmp_path / "run", listener=listener).finished
    assert listener.steps == [1]
    assert not list((tmp_path / "run").glob(".*"))


@pytest.mark.parametrize("names", [["notes.txt"], ["recipe.yaml"], ["model.safetensors"]])
def test_a_run_is_not_mixed_with_other_files(tmp_path: Path, names: list[str]):
    (tmp_path / "run").mkdir()
    for name in names:
        (tmp_path / "run" / name).touch()
    with pytest.raises(RunError, match=rf"`{names[0]}`.*--out"):
        fit(recipe("rnn"), tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == names


def test_what_cannot_be_trained_leaves_no_folder(tmp_path: Path):
    with pytest.raises(CorpusError, match="no sentence pairs are left"):
        fit(recipe("rnn", "data.filters.max_words=1"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["monotonic", "predictive"])
def test_a_window_wider_than_every_sentence_is_refused(tmp_path: Path, kind: str):
    with pytest.raises(
        SettingsError, match=r"`model\.window\.reach` is 500, but the longest training sentence has \d+ tokens"
    ):
        fit(recipe("rnn", f"model.window={{kind: {kind}, reach: 500}}"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_decoding_may_change_when_a_run_is_resumed(tmp_path: Path):
    fit(recipe("rnn", "training.steps=2"), tmp_path / "run")
    fit(recipe("rnn", "training.steps=3", "decoding.beam=7"), tmp_path / "run", resume=True)
    resolved = open_run(tmp_path / "run").recipe
    assert (resolved.decoding.beam, resolved.training.steps) == (7, 3)


def test_sentences_without_a_partner_do_not_count_in_validation(tmp_path: Path):
    (tmp_path / "dev.tsv").write_text("cats\tmèo\n\tkhông\nno\t \nI\tTôi\nyou\tbạn\n", encoding="utf-8")
    changed = recipe("rnn", "data.dev=[{tsv: dev.tsv}]", f"data.root={tmp_path}", "training.validate_sentences=2")
    fit(changed.model_copy(update={"training": changed.training.model_copy(update={"steps": 1})}), tmp_path / "run")
    validation = Validation(changed, open_run(tmp_path / "run"), torch.device("cpu"))
    assert (validation.sources, validation.references) == (["cats", "I"], ["mèo", "Tôi"])


def test_the_average_is_kept_where_it_is_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scores = iter([10.0, 5.0, 20.0, 10.0, 5.0, 8.0])
    monkeypatch.setattr(Validation, "__call__", lambda self, model: {"dev_loss": 1.0, "dev_bleu": next(scores)})
    settings = ("training.steps=4", "training.validate_every=2", "training.average=2")
    for folder, better in (("better", True), ("worse", False)):
        listener = Ear()
        fit(recipe("rnn", *settings), tmp_path / folder, listener=listener)
        said = "The average of the last 2 weights is better on dev, so it is kept." in listener.said
        _, about = load_tensors(tmp_path / folder / "model.safetensors")
        assert said == ("averaged" in about) == better
        assert MetricsFile(tmp_path / folder / "metrics.jsonl").read()[-1]["averaged"] == 2


def test_a_longer_training_replaces_an_average_only_by_something_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two validations and their average, which is kept for its loss; then two more, and an average that is worse."""
    given = [(19.0, 3.2), (20.0, 3.0), (19.9, 2.5), (19.8, 2.9), (19.0, 2.4), (10.0, 2.0)]
    scores = iter(given)
    monkeypatch.setattr(
        Validation, "__call__", lambda self, model: dict(zip(("dev_bleu", "dev_loss"), next(scores), strict=True))
    )
    often = ("training.validate_every=2", "training.average=2")
    first = fit(recipe("rnn", "training.steps=4", *often), tmp_path / "run")
    assert (first.best, first.best_loss, first.averaged) == (20.0, 2.5, 2)
    kept = (tmp_path / "run" / "model.safetensors").read_bytes()
    longer = fit(recipe("rnn", "training.steps=8", *often), tmp_path / "run", resume=True)
    assert next(scores, None) is None and (longer.best, longer.averaged) == (20.0, 2)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == kept


def test_the_best_weights_are_those_of_the_best_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scores = iter([1.0, 3.0, 2.0])
    monkeypatch.setattr(Validation, "__call__", lambda self, model: {"dev_loss": 1.0, "dev_bleu": next(scores)})
    progress = fit(recipe("rnn", "training.steps=3", "training.validate_every=1", "training.keep=3"), tmp_path / "run")
    assert (progress.best_step, progress.best) == (2, 3.0)
    best, _ = load_tensors(tmp_path / "run" / "model.safetensors")
    second, _ = load_tensors(tmp_path / "run" / "checkpoints" / "step-00000002.safetensors")
    assert all(torch.equal(best[name], second[name]) for name in second)


def test_events_are_written_where_asked_for(tmp_path: Path):
    pytest.importorskip("tensorboard")
    fit(recipe("rnn", "training.steps=2", "training.tensorboard=true"), tmp_path / "run")
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))


def test_a_run_trains_from_python_and_translates(trained: Trained):
    assert Translator.load(trained("transformer")).translate(["I love cats."])[0].text


def test_the_manifest_tells_what_training_cost(tmp_path: Path):
    progress = fit(recipe("rnn", "training.steps=6"), tmp_path / "run")
    cost = open_run(tmp_path / "run").manifest["cost"]
    model = Translator.load(tmp_path / "run", device="cpu").models[0]
    assert cost["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert (cost["steps"], cost["tokens"], cost["flops"]) == (6, progress.tokens, progress.flops)
    assert cost["flops_per_token"] == cost["flops"] / cost["tokens"] > 6 * 100
    assert cost["estimated_flops"] == pytest.approx(cost["seconds"] * cost["sustained_rate"], rel=1e-2)
    assert cost["peak_memory"] > 50e6


def test_the_cost_by_time_is_that_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    conclude = train._conclude

    def as_one_of_three(run: Run, trainer: Trainer) -> None:
        trainer.world = World(size=3)
        conclude(run, trainer)

    monkeypatch.setattr(train, "_conclude", as_one_of_three)
    fit(recipe("rnn", "training.steps=2"), tmp_path / "run")
    cost = open_run(tmp_path / "run").manifest["cost"]
    assert cost["estimated_flops"] == pytest.approx(3 * cost["seconds"] * cost["sustained_rate"], rel=1e-2)


def test_the_average_is_of_the_last_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scores = iter([1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(Validation, "__call__", lambda self, model: {"dev_loss": 1.0, "dev_bleu": next(scores)})
    settings = ("training.steps=3", "training.validate_every=1", "training.keep=3", "training.average=2")
    fit(recipe("rnn", *settings), tmp_path / "run")
    kept, _ = load_tensors(tmp_path / "run" / "model.safetensors")
    last = [load_tensors(tmp_path / "run" / "checkpoints" / f"step-0000000{step}.safetensors")[0] for step in (2, 3)]
    for name, tensor in kept.items():
        torch.testing.assert_close(tensor, (last[0][name] + last[1][name]) / 2)


def test_a_budget_that_was_lowered_ends_with_a_validation(tmp_path: Path):
    settings = ("training.steps=1000", "training.validate_every=1000")
    fit(recipe("rnn", *settings), tmp_path / "run", listener=Ear({5: signal.SIGINT}))
    assert not (tmp_path / "run" / "model.safetensors").exists()
    progress = fit(recipe("rnn", "training.steps=5", *settings[1:]), tmp_path / "run", resume=True)
    assert (progress.finished, progress.step, progress.best_step) == (True, 5, 5)
    again = fit(recipe("rnn", "training.steps=5", *settings[1:]), tmp_path / "run", resume=True)
    records = [one for one in MetricsFile(tmp_path / "run" / "metrics.jsonl").read() if "dev_loss" in one]
    assert again.finished and [one["step"] for one in records] == [5]


def test_an_average_is_replaced_only_by_better_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scores = iter([1.0, 2.0, 5.0, 3.0, 4.0])
    monkeypatch.setattr(Validation, "__call__", lambda self, model: {"dev_loss": 1.0, "dev_bleu": next(scores)})
    settings = ("training.validate_every=1", "training.keep=2")
    fit(recipe("rnn", "training.steps=2", "training.average=2", *settings), tmp_path / "run")
    last, _ = load_tensors(tmp_path / "run" / "checkpoints" / "step-00000002.safetensors")
    saved, _ = load_tensors(tmp_path / "run" / "training" / "last.safetensors")
    assert all(torch.equal(saved[f"model.{name}"], last[name]) for name in last), "it goes on from the last weights"
    fit(recipe("rnn", "training.steps=4", *settings), tmp_path / "run", resume=True)
    _, about = load_tensors(tmp_path / "run" / "model.safetensors")
    assert about["averaged"] and about["dev_bleu"] == 5.0


def test_only_embeddings_of_the_part_that_was_given_are_frozen(trained: Trained, tmp_path: Path):
    base, small = trained("transformer"), ("text.joint=false", "model.tied=target", "training.steps=2")
    fit(recipe("transformer", *small), tmp_path / "base")
    given = f"model.start_from={{encoder: {tmp_path / 'base'}}}"
    run = tmp_path / "run"
    fit(recipe("transformer", *small, given, "training.frozen=embeddings"), run)
    own, _ = load_tensors(run / "model.safetensors")
    before, _ = load_tensors(tmp_path / "base" / "model.safetensors")
    first = open_run(run).fresh_model().state_dict()
    name = "embedding.weight"
    assert base.exists() and torch.equal(own[f"encoder.{name}"], before[f"encoder.{name}"])
    assert not torch.equal(own[f"decoder.{name}"], first[f"decoder.{name}"])


def test_as_many_processes_encode_as_there_are_cores_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = []

    def stream(*_: object, encoders: Encoders) -> None:
        found.append(encoders.count)
        raise RunError("enough is known")

    monkeypatch.setattr(train, "_stream", stream)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 2, 9}, raising=False)
    with pytest.raises(RunError, match="enough is known"):
        fit(recipe("rnn"), tmp_path / "run")
    assert found == [3]
