"""What the demo measures and shows."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.tiny import Trained, recipe

from dragoman.data.phrasebook import derive
from dragoman.errors import RunError
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.inspection import Report
from dragoman.jobs.demo import SENTENCES, _samples, measure, remove_previous_demo, run_demo
from dragoman.training.reports import Silent


def test_perfect_translations_have_perfect_scores(trained: Trained):
    examples = derive("vi", "test", 10)
    perfect = [Translation(example.target, 0.0, 0.0) for example in examples]
    bleu, chrf, error = measure(Translator.load(trained("rnn")), examples, perfect)
    assert (bleu.metric, chrf.metric, error.metric) == ("BLEU", "chrF2", "AER")
    assert bleu.value == pytest.approx(100) and chrf.value == pytest.approx(100)
    assert 0 < error.value < 1
    assert "tok:13a" in bleu.signature


def test_the_report_shows_sentences_of_every_demo_and_mistakes(tmp_path: Path):
    found = run_demo(
        recipe("transformer", "training.steps=2"), tmp_path / "demo", instructions="do it", listener=Silent()
    )
    assert isinstance(found, Report)
    assert [sample.source for sample in found.samples[: len(SENTENCES)]] == list(SENTENCES)
    assert len(found.samples) == len(SENTENCES) + 2 * (6 + 4)
    assert list(found.scores) == ["test", "compositional"]
    assert found.facts["Training pairs"] == "300"
    assert found.records and found.settings.startswith("about:")
    assert all(picture.layers == 2 and picture.heads == 2 for picture in found.pictures)


def test_a_mistake_among_the_first_sentences_is_shown_once():
    examples = derive("vi", "test", 8)
    shown = _samples(examples, [Translation("", 0.0, 0.0)] * 8)
    assert [sample.source for sample in shown] == [example.source for example in examples]


class Stops(Silent):
    """A listener that sends a signal while training runs."""

    def progress(self, record: Mapping[str, Any]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_stopped_demo_returns_the_signal(tmp_path: Path):
    settings = recipe("rnn", "training.steps=100")
    assert run_demo(settings, tmp_path / "demo", instructions="", listener=Stops()) is signal.SIGTERM
    assert not (tmp_path / "demo" / "report.html").exists()
    remove_previous_demo(tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


def test_a_run_on_the_phrasebook_is_no_demo(trained: Trained, tmp_path: Path):
    run = Path(copytree(trained("rnn"), tmp_path / "run"))
    with pytest.raises(RunError, match="contains something that is not a demo; choose another folder with --out"):
        remove_previous_demo(run)
    assert (run / "model.safetensors").exists()


def test_a_folder_that_is_free_is_left_as_it_is(tmp_path: Path):
    remove_previous_demo(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    remove_previous_demo(tmp_path / "empty")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_runs_on_other_corpora_are_never_removed(trained: Trained, tmp_path: Path):
    for side in ("en", "vi"):
        (tmp_path / f"a.{side}").write_text("a b c d\n" * 3, encoding="utf-8")
    own = "[{source: a.en, target: a.vi}]"
    settings = (f"data.train={own}", f"data.dev={own}", "data.test=[]", f"data.root={tmp_path}", "text.size=10")
    run = trained("rnn", *settings, "training.steps=1")
    with pytest.raises(RunError, match="contains something that is not a demo; choose another folder with --out"):
        remove_previous_demo(run)
    assert (run / "manifest.json").exists()


@pytest.mark.parametrize("content", ["letter.txt", "source.json"])
def test_damaged_runs_are_never_removed(tmp_path: Path, content):
    (tmp_path / content).write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match="is not a demo"):
        remove_previous_demo(tmp_path)
